/** Reads JSON request bodies, bounded in size and depth, after authentication. */
import { isUtf8 } from 'node:buffer';
import { parse } from 'content-type';
import express, { type Request, type Response } from 'express';
import { badRequest, HttpError, unsupportedMediaType } from './errors.js';
import { parseJson } from './jsonText.js';

/**
 * Resolves to the parsed body. Throws HttpError: 415 for another content type or charset, 413 for too many bytes or
 * values, 400 for a body that is not JSON in UTF-8 or nested too deeply.
 */
export type BodyReader = (req: Request, res: Response) => Promise<unknown>;

/** @param limitBytes after decompression */
export function jsonBodyReader(limitBytes: number): BodyReader {
  const read = bytesReader(limitBytes);
  return async (req, res) => {
    requireJsonType(req.headers['content-type']);
    const bytes = await read(req, res);
    if (bytes.length === 0) throw badRequest('The body is empty; a JSON object is expected.');
    return parseJson(utf8Text(bytes));
  };
}

/** Skips a byte order mark (RFC 8259 §8.1 allows that). @throws HttpError 400 */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badRequest('The body is not valid UTF-8.');
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

/**
 * Makes a reader of decompressed bodies. A body over the limit is read to its end, so that the client gets the answer.
 * @throws HttpError 413, 415, 400
 */
export function bytesReader(limitBytes: number): (req: Request, res: Response) => Promise<Buffer> {
  const parser = express.raw({ limit: limitBytes, type: () => true });
  return async (req, res) => {
    const parsed = new Promise<void>((resolve, reject) => {
      parser(req, res, (error?: unknown) => (error === undefined ? resolve() : reject(toHttpError(error))));
    });
    // The time for a body to arrive has its own limit (`listen.ts`).
    await req.context.deadline.uncounted(parsed);
    const bytes: unknown = req.body;
    return Buffer.isBuffer(bytes) ? bytes : Buffer.alloc(0);
  };
}

/** Whether the request carries a body (RFC 9112 §6). */
export const hasBody = ({ headers }: Request): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;

const JSON_TYPE = 'application/json';

/** Only the charset parameter matters; OData clients send others. @throws HttpError 415 */
function requireJsonType(header: string | undefined): void {
  const { type, parameters } = parse(header ?? '');
  if (type !== JSON_TYPE) {
    throw unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.', { Accept: JSON_TYPE });
  }
  if (!/^utf-?8$/i.test(parameters.charset ?? 'utf-8')) {
    throw unsupportedMediaType('Send the body in UTF-8, as Content-Type: application/json; charset=utf-8.');
  }
}

/** Rewords errors of express' body parser. */
function toHttpError(error: unknown): unknown {
  if (!(error instanceof Error && 'type' in error)) return error;
  if (error.type === 'encoding.unsupported')
    return unsupportedMediaType('Content-Encoding must be gzip, deflate or br, or left out.', {
      'Accept-Encoding': 'gzip, deflate, br',
    });
  if (error.type !== 'entity.too.large') return error;
  const limit = 'limit' in error ? ` of ${String(error.limit)} bytes` : '';
  return new HttpError(413, 'The body is too large.', `The body is over the limit${limit}.`);
}
