/**
 * ETag, If-None-Match and If-Match (RFC 9110 §8.8.3, §13.1). If an answer has no tag of its own, the tag is a hash of
 * its bytes.
 */
import type { Request } from 'express';
import type { Precondition } from '../commands/preconditions.js';
import { badRequest } from './errors.js';

/** The header field's value. A compressed answer has other bytes, so its tag is weak. */
export const etag = (tag: string, isCompressed = false): string => (isCompressed ? `W/"${tag}"` : `"${tag}"`);

/** Whether the client holds what this tag stands for: the answer is 304. */
export function isCurrent(req: Request, tag: string): boolean {
  const given = req.headers['if-none-match'];
  return given !== undefined && (given.trim() === '*' || tagsIn(given)?.includes(tag) === true);
}

/**
 * The precondition of a change. A weak tag counts as the strong one (RFC 9110 §13.1.1 would never match it): a client that
 * reads a compressed record has no other to send. Our tags stand for the values of a record, not for bytes.
 * @throws HttpError 400 if the field is not a list of tags
 */
export function preconditionOf(req: Request): Precondition | undefined {
  const given = req.headers['if-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return 'any';
  const tags = tagsIn(given);
  if (tags === undefined) throw badRequest('If-Match must be the ETag of the record, such as "abc", or *.');
  return tags;
}

/** A list of tags (RFC 9110 §8.8.3), weak or not; `etagc` includes the comma. */
const TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const LIST = new RegExp(`^[ \\t,]*${TAG}(?:[ \\t]*,[ \\t,]*${TAG})*[ \\t,]*$`);

/** @returns undefined if this is not a list of tags, or an empty one */
function tagsIn(list: string): readonly string[] | undefined {
  // No tag contains a quotation mark, so every second part is a tag.
  return LIST.test(list) ? list.split('"').filter((_, at) => at % 2 === 1) : undefined;
}
