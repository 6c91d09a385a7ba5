/** Adds up the bytes of an answer while it is read, so that reading stops where it becomes too large. */
import { MAX_DECISION_BYTES, MAX_PAGE_BYTES } from '../../../domain/limits.js';
import { AnswerTooLargeError } from '../../../ports/readModels.js';

const LIMITS = {
  page: {
    bytes: MAX_PAGE_BYTES,
    message: `A page has at most ${MAX_PAGE_BYTES} bytes. Ask for fewer entries with perPage, or for others with filters.`,
  },
  decision: {
    bytes: MAX_DECISION_BYTES,
    message: `The records that this is about have more than ${MAX_DECISION_BYTES} bytes together. Name fewer at once.`,
  },
} as const;

export class AnswerSize {
  readonly #limit: (typeof LIMITS)[keyof typeof LIMITS];
  #bytes = 0;

  constructor(of: keyof typeof LIMITS) {
    this.#limit = LIMITS[of];
  }

  /** @returns the text, which is part of the answer @throws AnswerTooLargeError when it is too much */
  add(text: string): string {
    this.#bytes += Buffer.byteLength(text);
    if (this.#bytes > this.#limit.bytes) throw new AnswerTooLargeError(this.#limit.message);
    return text;
  }
}
