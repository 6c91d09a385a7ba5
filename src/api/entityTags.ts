/**
 * ETag, If-None-Match and If-Match (RFC 9110 §8.8.3, §13.1). If an answer has no tag of its own, the tag is a hash of
 * its bytes.
 */
import type { Request } from 'express';
import type { Precondition } from '../commands/preconditions.js';
import { badRequest } from './errors.js';
import type { Encoding } from './jsonAnswer.js';

/** The header field's value. A compressed answer has other bytes, so its strong tag differs. */
export const etag = (tag: string, encoding?: Encoding): string =>
  encoding === undefined ? `"${tag}"` : `"${tag}.${encoding}"`;

export const mayHaveAnswer = (req: Request): boolean => req.headers['if-none-match'] !== undefined;

/** The ETag to answer 304 with, if the client holds what this tag stands for; else undefined. */
export function heldTag(req: Request, tag: string): string | undefined {
  const given = req.headers['if-none-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return etag(tag);
  return tagsIn(given)?.find(({ tags }) => tags.includes(tag))?.text;
}

/**
 * The precondition of a change. A weak tag counts as the strong tag it was made of: a proxy that compresses answers
 * weakens their tags, and leaves the client no other to send (RFC 9110 §13.1.1 would never match it). Our tags stand
 * for the values of a record, not for bytes.
 * @throws HttpError 400 if the field is not a list of tags
 */
export function preconditionOf(req: Request): Precondition | undefined {
  const given = req.headers['if-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return 'any';
  const list = tagsIn(given);
  if (list === undefined) throw badRequest('If-Match must be the ETag of the record, such as "abc", or *.');
  return list.flatMap(({ tags }) => tags);
}

/** A list of tags (RFC 9110 §8.8.3), weak or not; `etagc` includes the comma. */
const TAG = '(?:W/)?"[\\x21\\x23-\\x7e\\x80-\\xff]*"';
const LIST = new RegExp(`^[ \\t,]*${TAG}(?:[ \\t]*,[ \\t,]*${TAG})*[ \\t,]*$`);
/** Suffixes of compressed answers: ours (`etag`), and those of Apache, Caddy and Jetty. */
const ENDING = /(?:\.|--?)(?:br|gzip|zstd|deflate)$/;

/** `text` is the tag without the weak mark; `tags` are the tags of ours that it may have been made of. */
type EntityTag = { readonly tags: readonly string[]; readonly text: string };

/** @returns undefined if this is not a list of tags, or an empty one */
function tagsIn(list: string): readonly EntityTag[] | undefined {
  if (!LIST.test(list)) return undefined;
  // No tag contains a quotation mark, so every second part is a tag. One of ours may end in a hyphen, so `--gzip` is ambiguous.
  const tags = list.split('"').filter((_, at) => at % 2 === 1);
  return tags.map((tag) => ({
    tags: [...new Set([tag, tag.replace(ENDING, ''), tag.replace(/-(?:br|gzip|zstd|deflate)$/, '')])],
    text: `"${tag}"`,
  }));
}
