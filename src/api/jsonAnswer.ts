/** JSON text of answers: its size, how it is compressed, and how it is sent. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { COMPRESSIONS_AT_ONCE, MIN_COMPRESSED_BYTES } from '../domain/limits.js';
import { FairQueue } from '../supervision/fairQueue.js';
import { nextTurn } from '../supervision/waiting.js';

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
  const bytes = json === undefined ? 0 : bytesOf(json);
  setHead(res, status, json === undefined ? headers : { 'Content-Type': JSON_TYPE, ...headers }, bytes);
  if (json === undefined || typeof json === 'string') {
    res.end(json);
    return;
  }
  if (json.length > 1) res.setHeader('Content-Length', bytes);
  for (const part of json.slice(0, -1)) res.write(part);
  res.end(json.at(-1));
}

/**
 * Sends a large answer in pieces, each in a turn of its own: copying megabytes to a socket takes milliseconds, and hundreds
 * of answers may be ready at once. Resolves when the last piece is handed over, or the client has left.
 * @param bytes size of `json`
 * @param onSlow called once if the client does not take the pieces as they are sent
 */
export async function sendInPieces(
  res: Response,
  status: number,
  json: JsonText,
  headers: { readonly [name: string]: string },
  { bytes, onSlow }: { readonly bytes: number; readonly onSlow: () => void },
): Promise<void> {
  setHead(res, status, { 'Content-Type': JSON_TYPE, 'Content-Length': String(bytes), ...headers }, bytes);
  let isSlow = false;
  let room = SENT_AT_ONCE;
  for (const piece of piecesOf(json)) {
    res.write(piece);
    room -= piece.length;
    if (room > 0) continue;
    room = SENT_AT_ONCE;
    await nextTurn();
    if (res.destroyed) return;
    if (!res.writableNeedDrain) continue;
    if (!isSlow) onSlow();
    isSlow = true;
    await drained(res);
  }
  res.end();
}

const JSON_TYPE = 'application/json; charset=utf-8';

function setHead(res: Response, status: number, headers: { readonly [name: string]: string }, bytes: number): void {
  res.statusCode = status;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.req.context.answerBytes = bytes;
}

/** Bytes, or characters, that are handed to a socket at once. */
const SENT_AT_ONCE = 1_048_576;

function* piecesOf(json: JsonText): Iterable<string | Uint8Array> {
  for (const part of typeof json === 'string' ? [json] : json) {
    for (let from = 0; from < part.length; ) {
      const until = pieceEnd(part, from);
      yield typeof part === 'string' ? part.slice(from, until) : part.subarray(from, until);
      from = until;
    }
  }
}

/** Surrogate pairs are not cut: each half alone has no UTF-8. */
function pieceEnd(part: string | Uint8Array, from: number): number {
  const end = Math.min(from + SENT_AT_ONCE, part.length);
  return typeof part === 'string' && end < part.length && isHighSurrogate(part.charCodeAt(end - 1)) ? end + 1 : end;
}

const isHighSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff;

/** Resolves when the client has taken what was written, or has left. */
function drained(res: Response): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      res.off('drain', end).off('close', end);
      resolve();
    };
    res.once('drain', end).once('close', end);
  });
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
