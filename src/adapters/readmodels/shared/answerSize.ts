/** Adds up an answer while it is read, so that reading stops where it becomes too large. */
import { MAX_DECISION_BYTES, MAX_PAGE_BYTES } from '../../../domain/limits.js';
import { AnswerTooLargeError, type RecordJson, type RecordPage } from '../../../ports/readModels.js';

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
  #characters = 0;

  constructor(of: keyof typeof LIMITS) {
    this.#limit = LIMITS[of];
  }

  /**
   * Counts characters, of which each has one byte or more: to count bytes would take as long as to read a short record.
   * @returns the text, which is part of the answer
   * @throws AnswerTooLargeError when it is too much
   */
  add(text: string): string {
    this.#characters += text.length;
    if (this.#characters > this.#limit.bytes) throw new AnswerTooLargeError(this.#limit.message);
    return text;
  }
}

/** Tells how much fits on a page, in bytes; one text does in any case. */
export class PageRoom {
  #bytes = 0;

  /** Is there room for it? It takes it. */
  take(text: string): boolean {
    const isFirst = this.#bytes === 0;
    // Between two records is a comma.
    this.#bytes += Buffer.byteLength(text) + 1;
    return isFirst || this.#bytes <= MAX_PAGE_BYTES;
  }
}

const utf8 = new TextEncoder();
/** A text of fewer characters is handed to another thread, and sent, sooner than its bytes. */
const SHORT_PAGE = 65_536;

/** The records of a page as the port hands them over. @throws AnswerTooLargeError */
export function pageText(records: readonly RecordJson[]): RecordPage['records'] {
  const text = records.join();
  if (text.length < SHORT_PAGE) return text;
  const bytes = utf8.encode(text);
  if (bytes.length > LIMITS.page.bytes) throw new AnswerTooLargeError(LIMITS.page.message);
  return bytes;
}
