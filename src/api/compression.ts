/**
 * Answers in fewer bytes, for clients that ask for it (RFC 9110 §8.4, §12.5.3): a page of a list has a sixth or less.
 *
 * Only what is read is compressed. Secrets are shown in answers to changes alone (a new client, a webhook, a session, a
 * token), and how long such an answer is when it is compressed could give away what in it is secret (BREACH).
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request } from 'express';
import { COMPRESSIONS_AT_ONCE, MIN_COMPRESSED_BYTES } from '../domain/limits.js';
import { FairQueue } from '../supervision/fairQueue.js';
import { bytesOf, type JsonText, oneBuffer } from './jsonAnswer.js';

/** By their names in Content-Encoding; of those that a client likes best, the first. */
const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

const inBrotli = promisify(brotliCompress);
const inGzip = promisify(gzip);

/** Bytes that are handed from thread to thread at once. */
const chunkSize = 65_536;

/** At the lowest levels: higher ones take several times as long for a few percent. Both work in threads of Node's pool. */
const COMPRESS: { readonly [encoding in Encoding]: (bytes: Buffer) => Promise<Buffer> } = {
  br: (bytes) => {
    const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_SIZE_HINT } = constants;
    return inBrotli(bytes, {
      chunkSize,
      params: { [BROTLI_PARAM_QUALITY]: 1, [BROTLI_PARAM_SIZE_HINT]: bytes.length },
    });
  },
  gzip: (bytes) => inGzip(bytes, { chunkSize, level: 1 }),
};

/** What to send the answer in; undefined for as it is: it is short, or the client prefers that. */
export function encodingFor(req: Request, body: JsonText): Encoding | undefined {
  if (req.method !== 'GET' || req.headers['accept-encoding'] === undefined) return undefined;
  if (bytesOf(body) < MIN_COMPRESSED_BYTES) return undefined;
  return ENCODINGS.find((encoding) => req.acceptsEncodings(encoding, 'identity') === encoding);
}

export class Compression {
  // Those that wait are answers of the tenant, which are counted (answersInFlight.ts).
  readonly #turns = new FairQueue({ atOnce: COMPRESSIONS_AT_ONCE, waitingOfGroup: Number.POSITIVE_INFINITY });

  /** @param group whose answer it is: groups take turns */
  compress(body: JsonText, encoding: Encoding, group: string): Promise<Buffer> {
    return this.#turns.run(group, () => COMPRESS[encoding](oneBuffer(body)));
  }
}
