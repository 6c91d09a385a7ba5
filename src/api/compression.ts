/**
 * Compresses answers for clients that ask for it (RFC 9110 §8.4, §12.5.3). A page of a list shrinks to a sixth or less.
 *
 * Only answers to reads are compressed. Answers to changes may hold a secret (a new client, a webhook, a session, a
 * token), whose contents the compressed length could reveal (BREACH).
 */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request } from 'express';
import { COMPRESSIONS_AT_ONCE, MIN_COMPRESSED_BYTES } from '../domain/limits.js';
import { FairQueue } from '../supervision/fairQueue.js';
import { bytesOf, type JsonText, oneBuffer } from './jsonAnswer.js';

/** Names in Content-Encoding, in our order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

const inBrotli = promisify(brotliCompress);
const inGzip = promisify(gzip);

/** Bytes that pass between threads at once. */
const chunkSize = 65_536;

/** Lowest levels: higher ones take several times as long for a few percent. Both run in Node's thread pool. */
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

/** The encoding to use; undefined if the answer is short or the client prefers it uncompressed. */
export function encodingFor(req: Request, body: JsonText): Encoding | undefined {
  if (req.method !== 'GET' || req.headers['accept-encoding'] === undefined) return undefined;
  if (bytesOf(body) < MIN_COMPRESSED_BYTES) return undefined;
  return ENCODINGS.find((encoding) => req.acceptsEncodings(encoding, 'identity') === encoding);
}

export class Compression {
  // Waiting answers need no limit here: answersInFlight.ts counts them.
  readonly #turns = new FairQueue({ atOnce: COMPRESSIONS_AT_ONCE, waitingOfGroup: Number.POSITIVE_INFINITY });

  /** @param group the tenant: tenants take turns */
  compress(body: JsonText, encoding: Encoding, group: string): Promise<Buffer> {
    return this.#turns.run(group, () => COMPRESS[encoding](oneBuffer(body)));
  }
}
