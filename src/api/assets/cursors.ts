/**
 * Cursors hold their whole state, so no process stores them. They begin with a hash of the query they belong to, so
 * that they cannot be used with another one.
 */
import type { z } from 'zod';
import { tagOf } from '../../commands/preconditions.js';
import { badRequest } from '../errors.js';

/** Characters of the longest cursor that we issue. */
const LONGEST = 500;

/** @param of everything that identifies the query: tenant, table, filters */
export const queryHash = (...of: readonly unknown[]): string => tagOf(JSON.stringify(of));

export const toCursor = (mark: string, at: readonly unknown[]): string =>
  Buffer.from(JSON.stringify([mark, ...at])).toString('base64url');

/** @throws HttpError 400 for a text that is not a cursor, or the cursor of another query */
export function fromCursor<At extends readonly unknown[]>(
  name: string,
  text: string,
  mark: string,
  schema: z.ZodType<At>,
): At {
  const unknown = badRequest(`${name} is not one that this service has given.`);
  if (text.length > LONGEST || !/^[\w-]+$/.test(text)) throw unknown;
  let values: unknown;
  try {
    values = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {
    throw unknown;
  }
  if (!Array.isArray(values)) throw unknown;
  const [given, ...at] = values;
  if (given !== mark) {
    throw badRequest(`${name} is of another list: it goes on only with the table, filters and sort that it came with.`);
  }
  const parsed = schema.safeParse(at);
  if (!parsed.success) throw unknown;
  return parsed.data;
}
