/**
 * Reads JSON request bodies (RFC 8259), bounded in size and depth, after authentication, and without loss: a name twice in one
 * object is refused, and so is a number that a double would round.
 */
import { isUtf8 } from 'node:buffer';
import { parse } from 'content-type';
import express, { type Request, type Response } from 'express';
import { ValidationError } from '../commands/context.js';
import { DECIMAL_TEXT, isExactDouble } from '../domain/assetTypes/fieldTypes.js';
import { MAX_DIGITS, MAX_JSON_DEPTH, MAX_JSON_NAMES, MAX_JSON_VALUES } from '../domain/limits.js';
import { shownName } from '../domain/shownName.js';
import { nextTurn } from '../supervision/waiting.js';
import { badRequest, HttpError, unsupportedMediaType } from './errors.js';

/**
 * Resolves to the parsed body. Throws HttpError: 415 for another content type or charset, 413 for too many bytes or
 * values, 400 for a body that is not JSON in UTF-8 or nested too deeply.
 */
export type BodyReader = (req: Request, res: Response) => Promise<unknown>;

/** From here on a body takes milliseconds to parse. */
const LONG_BYTES = 100_000;

/** @param limitBytes after decompression */
export function jsonBodyReader(limitBytes: number): BodyReader {
  const read = bytesReader(limitBytes);
  return async (req, res) => {
    requireJsonType(req.headers['content-type']);
    const bytes = await read(req, res);
    if (bytes.length === 0) throw badRequest('The body is empty; a JSON object is expected.');
    // Each of several that arrive whole at the same time takes a while to parse.
    if (bytes.length > LONG_BYTES) await nextTurn(req.context.tenantName);
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
  if (type !== JSON_TYPE || !/^utf-?8$/i.test(parameters.charset ?? 'utf-8'))
    throw unsupportedMediaType('Send the body as Content-Type: application/json, in UTF-8.', { Accept: JSON_TYPE });
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

/**
 * @throws HttpError 400 for text that is not JSON, too deep, or has a name twice; 413 for too many values; ValidationError for an
 * object of too many names, or a number with more digits than a double holds
 */
export function parseJson(text: string): unknown {
  const { names, long } = scanned(text);
  const value = parsed(text);
  if (long !== undefined)
    throw new ValidationError({
      body: [`The number ${shownName(long)} has more digits than can be kept; send it as text.`],
    });
  // RFC 8259 §4 leaves open which of the two counts, and parsers differ.
  if (membersIn(value) < names) throw badRequest('An object in the body has a name twice.');
  return value;
}

/** Members of all objects in a parsed value. */
function membersIn(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (Array.isArray(value)) return value.reduce<number>((sum, part) => sum + membersIn(part), 0);
  let members = 0;
  // A list of the names, or of the values, takes up to four times as long.
  for (const name in value) members += 1 + membersIn(value[name as keyof typeof value]);
  return members;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw badRequest('The body is not valid JSON.');
  }
}

/** A double holds any number of this many digits exactly. */
const LEAST_LONG = 15;

/**
 * Throws as `parseJson`, as soon as a limit is passed.
 * @returns how many names the text has, and the first number that a double would round
 */
function scanned(text: string) {
  let [names, values, level] = [0, 1, 0];
  /** Of the open object of each level. */
  const namesAt: number[] = [];
  let long: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === '"') {
      at = endOfString(text, at);
    } else if (char === ':') {
      names += 1;
      const inObject = (namesAt[level] ?? 0) + 1;
      namesAt[level] = inObject;
      if (inObject > MAX_JSON_NAMES)
        throw new ValidationError({ body: [`An object in the body has more than ${MAX_JSON_NAMES} names.`] });
    } else if (char === ',') {
      values += 1;
    } else if (char === '{' || char === '[') {
      values += 1;
      level += 1;
      namesAt[level] = 0;
      if (level > MAX_JSON_DEPTH) throw badRequest(`The body is nested deeper than ${MAX_JSON_DEPTH} levels.`);
    } else if (char === '}' || char === ']') {
      level -= 1;
    } else if (char !== undefined && /[-\d]/.test(char)) {
      NUMBER.lastIndex = at;
      const number = NUMBER.exec(text)?.[0] ?? char;
      at += number.length - 1;
      if (long === undefined && isRounded(number)) long = number;
    }
    if (values > MAX_JSON_VALUES)
      throw new HttpError(413, 'The body is too large.', `The body has more than ${MAX_JSON_VALUES} values.`);
  }
  return { names, long };
}

const NUMBER = /[-+.eE\d]+/y;

/** The parser refuses what is not a number, such as the letter of `true`. */
const isRounded = (number: string): boolean =>
  (number.length > LEAST_LONG || /[eE]/.test(number)) &&
  (number.length > MAX_DIGITS || (DECIMAL_TEXT.test(number) && !isExactDouble(number)));

/** Index of the closing quote of the string that begins at `start`; the text's length if it is not closed. */
function endOfString(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1);
  if (quote < 0) return text.length;
  if (text[quote - 1] !== '\\') return quote;
  let end = start + 1;
  while (end < text.length && text[end] !== '"') end += text[end] === '\\' ? 2 : 1;
  return end;
}
