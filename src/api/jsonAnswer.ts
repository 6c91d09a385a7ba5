/** How answers are compressed and sent. */
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** Bytes from which an answer is compressed if the client accepts it; a shorter one fits in one packet anyway. */
const MIN_COMPRESSED_BYTES = 1_024;

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

/** Names in Content-Encoding, in our order of preference. */
const ENCODINGS = ['br', 'gzip'] as const;
export type Encoding = (typeof ENCODINGS)[number];

const inBrotli = promisify(brotliCompress);
const inGzip = promisify(gzip);

/** Bytes that pass between threads at once. */
const chunkSize = 65_536;

/** Lowest levels: higher ones take several times as long for a few percent. Both run in Node's thread pool. */
const COMPRESS: { readonly [encoding in Encoding]: (bytes: AnswerBody) => Promise<Buffer> } = {
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
export function encodingFor(req: Request, body: AnswerBody): Encoding | undefined {
  if (req.method !== 'GET' || req.headers['accept-encoding'] === undefined) return undefined;
  if (Buffer.byteLength(body) < MIN_COMPRESSED_BYTES) return undefined;
  return ENCODINGS.find((encoding) => req.acceptsEncodings(encoding, 'identity') === encoding);
}

export const compress = (body: AnswerBody, encoding: Encoding): Promise<Buffer> => COMPRESS[encoding](body);
