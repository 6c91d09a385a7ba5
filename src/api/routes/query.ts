/** Parses the query of a request, and refuses unknown parameters, and header fields that clients rely on where they do nothing. */
import type { Request } from 'express';
import { z } from 'zod';
import { shownName } from '../../domain/shownName.js';
import { badRequest } from '../errors.js';
import { inputSchema } from '../openapi/schema.js';
import type { QueryParameter, RequestHeader } from './operation.js';

/**
 * The parameters of a request's URL. Names and values are plain text: `__proto__` is a name like any other.
 * @throws HttpError 400 for bytes that are not UTF-8, or a NUL character
 */
export function parametersOf(url: string): URLSearchParams {
  const start = url.indexOf('?');
  const text = start < 0 ? '' : url.slice(start + 1);
  const parameters = new URLSearchParams(text);
  if (!isEscapedUtf8(text) || !IS_ASCII.test(text)) throw badRequest('The query is not valid UTF-8, percent-encoded.');
  for (const [name, value] of parameters) {
    if (`${name}${value}`.includes('\0')) throw badRequest(`${shownName(name)} has a NUL character.`);
  }
  return parameters;
}

/** Node decodes each byte of a URL as one character. */
const IS_ASCII = /^[\0-\x7f]*$/;

/**
 * Whether all percent-encoding in a query or form is UTF-8 (RFC 3629: no overlong forms, no surrogates).
 * URLSearchParams would replace anything else by U+FFFD. A `%` that encodes nothing stands for itself.
 */
function isEscapedUtf8(text: string): boolean {
  try {
    decodeURIComponent(text.replaceAll(/%(?![\da-f]{2})/gi, '%25'));
    return true;
  } catch {
    return false;
  }
}

/** Documents the properties of a zod object as parameters. (zod omits the default of a transformed property.) */
export const parametersIn = ({ shape }: z.ZodObject): readonly QueryParameter[] =>
  Object.entries(shape).map(([name, property]) => {
    const meta = z.globalRegistry.get(property) ?? {};
    const { description, ...schema } = { ...inputSchema(property), ...meta };
    const isRequired = !z.safeParse(property, undefined).success;
    return {
      name,
      ...(description && { description: String(description) }),
      ...(isRequired && { required: true }),
      schema,
    };
  });

/** Parses a query by a schema. @throws HttpError 400 naming an invalid parameter */
export function parseQuery<Schema extends z.ZodType>(schema: Schema, query: URLSearchParams): z.output<Schema> {
  const parsed = schema.safeParse(Object.fromEntries(query));
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw badRequest(`${String(issue?.path[0])} ${issue?.message}`);
}

/** `filter` of `filter[name]`. */
const beforeBracket = (name: string): string => name.split('[', 1)[0] ?? name;

/** Makes a check that throws HttpError 400 for an unknown parameter, or one that occurs twice. */
export function parametersCheck(parameters: readonly QueryParameter[]): (query: URLSearchParams) => void {
  const names = parameters.map(({ name }) => name);
  const exact = new Set(names.map(beforeBracket));
  const bracketed = new Set(names.filter((name) => name.includes('[')).map(beforeBracket));
  return (query) => {
    for (const name of query.keys()) {
      const isBracketed = bracketed.has(beforeBracket(name));
      if (!exact.has(name) && !isBracketed)
        throw badRequest(`Unknown parameter ${shownName(name)}; there are ${names.join(', ') || 'none'}.`);
      if (!isBracketed && query.getAll(name).length > 1) throw badRequest(`${name} is given twice.`);
    }
  };
}

/** Makes a check that throws HttpError 400 for a header field that the client relies on and that would do nothing. */
export function refusedHeadersCheck(method: string, known: readonly RequestHeader[]): (req: Request) => void {
  return ({ headers }) => {
    if (headers['if-match'] !== undefined && !known.includes('if-match'))
      throw badRequest(`If-Match has no effect on this ${method}: send it without.`);
    if (headers['idempotency-key'] === undefined || known.includes('idempotency-key')) return;
    if (method === 'POST') throw badRequest('Idempotency-Key has no effect on this POST: send it without.');
    throw badRequest(`Idempotency-Key is not needed on ${method}: a ${method} can be repeated.`);
  };
}
