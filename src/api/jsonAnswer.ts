/** How answers are compressed and sent. */
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** Bytes from which an answer is compressed if the client accepts it; a shorter one fits in one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024;
/** Bytes that pass between threads at once. */
const CHUNK_BYTES = 65_536;

/** Text, or its bytes in UTF-8. */
export type AnswerBody = string | Uint8Array;

/**
 * Answers with this body, JSON if no header says otherwise, or without one. (express' own `json` and `send` would serialize,
 * hash and re-encode.)
 */
export function sendBody(
  res: Response,
  status: number,
  body: AnswerBody | undefined,
  headers: { readonly [name: string]: string } = {},
): void {
  res.statusCode = status;
  if (body !== undefined) res.setHeader('Content-Type', 'application/json; charset=utf-8');
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.req.context.answerBytes = Buffer.byteLength(body ?? '');
  res.end(body);
}

const inGzip = promisify(gzip);

/**
 * Whether to compress this answer (RFC 9110 §8.4, §12.5.3): not if it is short or the client prefers it as it is. Only answers
 * to reads are compressed: those to changes may hold a secret, whose contents the compressed length could reveal (BREACH).
 */
export const isCompressedFor = (req: Request, body: AnswerBody): boolean =>
  req.method === 'GET' &&
  req.headers['accept-encoding'] !== undefined &&
  Buffer.byteLength(body) >= MIN_COMPRESSED_BYTES &&
  req.acceptsEncodings('gzip', 'identity') === 'gzip';

/**
 * In Node's thread pool. Answers at the lowest level: higher ones take several times as long for a few percent. Files of pages at
 * the highest, since browsers keep them.
 */
export const compress = (body: AnswerBody, isKept: boolean): Promise<Buffer> =>
  inGzip(body, { chunkSize: CHUNK_BYTES, level: isKept ? 9 : 1 });
