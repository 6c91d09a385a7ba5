/** Reading JSON request bodies: bounded in size and depth, and only after the client is known. */
import { isUtf8 } from 'node:buffer';
import express, { type Request, type RequestHandler, type Response } from 'express';
import { badRequest, HttpError, unsupportedMediaType } from './errors.js';

/** Objects and arrays within each other; no asset needs more than three. */
const MAX_DEPTH = 32;

/**
 * A reader of request bodies. It resolves to the parsed body, and throws HttpError: 415 for another content
 * type or charset, 413 over the limit, 400 for what is not JSON in UTF-8 or nested too deeply.
 */
export type BodyReader = (req: Request, res: Response) => Promise<unknown>;

/**
 * Numbers with more digits than a double holds arrive as text, digit by digit, so that the rule of their field decides
 * about them, and no parser rounds them.
 * @param limitBytes after decompression
 */
export function jsonBodyReader(limitBytes: number): BodyReader {
  const read = express.text({ limit: limitBytes, type: () => true, verify: requireText, defaultCharset: 'utf-8' });
  return async (req, res) => {
    requireJsonType(req.headers['content-type']);
    await runParser(read, req, res);
    const text: unknown = req.body;
    if (typeof text !== 'string' || text === '') throw emptyBody();
    const body = parse(text);
    if (isDeeperThan(MAX_DEPTH, body)) throw badRequest(`The body is nested deeper than ${MAX_DEPTH} levels.`);
    return body;
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(LONG_NUMBER.test(text) ? text.replace(JSON_TOKEN, exactly) : text);
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/** Digits enough that rounding is possible; also finds text, which then is left as it is. */
const LONG_NUMBER = /[\d.]{16}|\d[eE][+-]?\d{3}/;
/** Strings, so that digits in them are passed over, and numbers (RFC 8259 §6, §7). */
const JSON_TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

const digitsOf = (number: string): string =>
  number
    .replace(/[eE].*$/, '')
    .replace(/[-+.]/g, '')
    .replace(/^0+|0+$/g, '');

const exactly = (token: string): string =>
  token.startsWith('"') || digitsOf(token) === digitsOf(String(Number(token))) ? token : `"${token}"`;

/** A body parser of express, as a promise. It reads a body that is too large to its end, so that the client gets the answer. */
export function runParser(parser: RequestHandler, req: Request, res: Response): Promise<void> {
  return new Promise((resolve, reject) => {
    parser(req, res, (error?: unknown) => {
      if (error === undefined) resolve();
      else reject(toHttpError(error));
    });
  });
}

/** Whether the request carries a body (RFC 9112 §6). */
export const hasBody = (req: Request): boolean =>
  req.headers['transfer-encoding'] !== undefined || Number(req.headers['content-length'] ?? 0) > 0;

const JSON_TYPE = /^application\/json\s*(?:;\s*charset\s*=\s*"?utf-?8"?\s*)?;?\s*$/i;

function requireJsonType(contentType: string | undefined): void {
  if (contentType !== undefined && JSON_TYPE.test(contentType)) return;
  throw unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.');
}

const emptyBody = (): HttpError => badRequest('The body is empty; a JSON object is expected.');

/** The parser would take an empty body for `{}`. */
function requireText(_req: unknown, _res: unknown, body: Buffer): void {
  if (body.length === 0) throw emptyBody();
  if (!isUtf8(body)) throw badRequest('The body is not valid UTF-8.');
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

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((entry) => isDeeperThan(levels - 1, entry));
}
