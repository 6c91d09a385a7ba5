/** Reading JSON request bodies: bounded in size and depth, and only after the client is known. */
import { isUtf8 } from 'node:buffer';
import { type ContentType, parse } from 'content-type';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { badRequest, HttpError, unsupportedMediaType } from './errors.js';
import type { LongNumbers } from './jsonLook.js';
import { parseJson } from './jsonText.js';

/**
 * A reader of request bodies. It resolves to the parsed body, and throws HttpError: 415 for another content type or
 * charset, 413 over the limit or for too many values, 400 for what is not JSON in UTF-8 or nested too deeply.
 */
export type BodyReader = (req: Request, res: Response) => Promise<unknown>;

export type ReadOptions = {
  /** After decompression. */
  readonly limitBytes: number;
  readonly longNumbers?: LongNumbers;
};

export function jsonBodyReader({ limitBytes, longNumbers = 'asText' }: ReadOptions): BodyReader {
  const read = express.raw({ limit: limitBytes, type: () => true });
  return async (req, res) => {
    requireJsonType(req.headers['content-type']);
    await runParser(read, req, res);
    const bytes: unknown = req.body;
    if (!Buffer.isBuffer(bytes) || bytes.length === 0)
      throw badRequest('The body is empty; a JSON object is expected.');
    return await parseJson(utf8Text(bytes), longNumbers);
  };
}

/** Without the byte order mark that some clients send (RFC 8259 §8.1 lets a reader ignore it). @throws HttpError 400 */
export function utf8Text(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw badRequest('The body is not valid UTF-8.');
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return bytes.toString('utf8', hasMark ? 3 : 0);
}

/** A body parser of express, as a promise. It reads a body that is too large to its end, so that the client gets the answer. */
export function runParser(parser: RequestHandler, req: Request, res: Response): Promise<void> {
  const read = new Promise<void>((resolve, reject) => {
    parser(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(toHttpError(error));
    });
  });
  // How long a body may take to arrive has a limit of its own (`listen.ts`).
  return req.context.deadline.uncounted(read);
}

/** Whether the request carries a body (RFC 9112 §6). */
export const hasBody = (req: Request): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

function requireJsonType(header: string | undefined): void {
  if (header !== undefined && isInUtf8(parse(header), 'application/json')) return;
  throw unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.');
}

/** Whether a content type is this one, with no other charset and nothing else beside it. */
export function isInUtf8({ type, parameters }: ContentType, wanted: string): boolean {
  const { charset = 'utf-8', ...others } = parameters;
  return type === wanted && /^utf-?8$/i.test(charset) && Object.keys(others).length === 0;
}

/** What express' body parser can find wrong, in our words. */
function toHttpError(error: unknown): unknown {
  if (!(error instanceof Error && 'type' in error)) return error;
  if (error.type === 'entity.too.large') {
    const limit = 'limit' in error ? ` of ${String(error.limit)} bytes` : '';
    return new HttpError(413, 'The body is too large.', `The body is over the limit${limit}.`);
  }
  if (error.type !== 'encoding.unsupported') return error;
  return unsupportedMediaType('The Content-Encoding is not supported; gzip, deflate and br are.');
}
