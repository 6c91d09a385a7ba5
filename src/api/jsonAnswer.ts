/** JSON text of answers: its size, how it is compressed, and how it is sent. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { COMPRESSIONS_AT_ONCE, MIN_COMPRESSED_BYTES } from '../domain/limits.js';
import { FairQueue } from '../supervision/fairQueue.js';

/** JSON text, as one string or in parts that are sent one after the other. Large parts are never copied together. */
export type JsonText = string | readonly (string | Uint8Array)[];

export const bytesOf = (json: JsonText): number =>
  typeof json === 'string' ? Buffer.byteLength(json) : json.reduce((bytes, part) => bytes + Buffer.byteLength(part), 0);

const oneBuffer = (json: JsonText): Buffer =>
  typeof json === 'string'
    ? Buffer.from(json)
    : Buffer.concat(json.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)));

const SMALL_BYTES = 262_144;

/** Joins the parts of a small text: handling each part would take longer than copying it. */
export const joined = (json: JsonText): JsonText =>
  typeof json === 'string' || bytesOf(json) > SMALL_BYTES ? json : [oneBuffer(json)];

/**
 * Answers with this JSON text, or without a body. (express' own `json` and `send` would serialize, hash and re-encode.)
 */
export function sendJson(
  res: Response,
  status: number,
  json: JsonText | undefined,
  headers: { readonly [name: string]: string } = {},
): void {
  res.statusCode = status;
  if (json !== undefined) res.setHeader('Content-Type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  const bytes = json === undefined ? 0 : bytesOf(json);
  res.req.context.answerBytes = bytes;
  if (json === undefined || typeof json === 'string') {
    res.end(json);
    return;
  }
  if (json.length > 1) res.setHeader('Content-Length', bytes);
  for (const part of json.slice(0, -1)) res.write(part);
  res.end(json.at(-1));
}

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

/**
 * The encoding to use (RFC 9110 §8.4, §12.5.3); undefined if the answer is short or the client prefers it uncompressed.
 * Only answers to reads are compressed: those to changes may hold a secret, whose contents the compressed length could
 * reveal (BREACH).
 */
export function encodingFor(req: Request, body: JsonText): Encoding | undefined {
  if (req.method !== 'GET' || req.headers['accept-encoding'] === undefined) return undefined;
  if (bytesOf(body) < MIN_COMPRESSED_BYTES) return undefined;
  return ENCODINGS.find((encoding) => req.acceptsEncodings(encoding, 'identity') === encoding);
}

export class Compression {
  // Waiting answers need no limit here: admission.ts counts them.
  readonly #turns = new FairQueue({ atOnce: COMPRESSIONS_AT_ONCE, waitingOfGroup: Number.POSITIVE_INFINITY });

  /** @param group the tenant: tenants take turns */
  compress(body: JsonText, encoding: Encoding, group: string): Promise<Buffer> {
    return this.#turns.run(group, () => COMPRESS[encoding](oneBuffer(body)));
  }
}
