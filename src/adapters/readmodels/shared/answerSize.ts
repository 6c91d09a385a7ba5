/** Limits the size of answers while they are read. */
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
   * Counts characters, which have one byte or more: to count bytes would take as long as to read a short record.
   * @returns the text
   * @throws AnswerTooLargeError when the answer becomes too large
   */
  add(text: string): string {
    this.#characters += text.length;
    if (this.#characters > this.#limit.bytes) throw new AnswerTooLargeError(this.#limit.message);
    return text;
  }
}

/** The bytes left on a page; the first text fits in any case. */
export class PageRoom {
  #bytes = 0;

  /** Takes the room if there is enough. @returns whether there was */
  take(text: string): boolean {
    const isFirst = this.#bytes === 0;
    // Between two records is a comma.
    this.#bytes += Buffer.byteLength(text) + 1;
    return isFirst || this.#bytes <= MAX_PAGE_BYTES;
  }
}

const utf8 = new TextEncoder();
/** A shorter text is handed to another thread, and sent, more quickly as text than as bytes. */
const SHORT_PAGE = 65_536;

/** The records of a page as the port returns them. @throws AnswerTooLargeError */
export function pageText(records: readonly RecordJson[]): RecordPage['records'] {
  const text = records.join();
  if (text.length < SHORT_PAGE) return text;
  const bytes = utf8.encode(text);
  if (bytes.length > LIMITS.page.bytes) throw new AnswerTooLargeError(LIMITS.page.message);
  return bytes;
}
