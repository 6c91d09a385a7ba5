/** The archive of an order for a dispute. */
import { Zip, ZipDeflate } from 'fflate';
import { AnswerTooLargeError } from '../domain/jsonSize.js';
import { MAX_READ_BYTES } from '../domain/limits.js';
import { nextTurn } from '../supervision/waiting.js';

/** As much is compressed in a few milliseconds. */
const PIECE_BYTES = 131_072;

/** Files are compressed while they are made. Names are ours, so nothing of what users wrote becomes a path. */
export class Archive {
  readonly #made: Uint8Array[] = [];
  #bytes = 0;
  readonly #zip = new Zip((error, piece) => {
    if (error !== null) throw error;
    this.#made.push(piece);
  });

  /** @throws AnswerTooLargeError */
  async file(name: string, content: string | Uint8Array): Promise<void> {
    const bytes = Buffer.from(content);
    this.count(bytes.length);
    const file = new ZipDeflate(name);
    this.#zip.add(file);
    for (let at = 0; at <= bytes.length; at += PIECE_BYTES) {
      file.push(bytes.subarray(at, at + PIECE_BYTES), at + PIECE_BYTES > bytes.length);
      await nextTurn();
    }
  }

  /** @throws AnswerTooLargeError */
  count(bytes: number): void {
    this.#bytes += bytes;
    if (this.#bytes > MAX_READ_BYTES)
      throw new AnswerTooLargeError(`The order and its deliveries have more than ${MAX_READ_BYTES} bytes.`);
  }

  end(): Uint8Array {
    this.#zip.end();
    return Buffer.concat(this.#made);
  }
}
