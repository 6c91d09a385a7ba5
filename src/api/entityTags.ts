/** ETag, If-None-Match and If-Match (RFC 9110 §8.8.3, §13.1). Where an answer has no tag of its own, it goes by the bytes. */
import { createHash } from 'node:crypto';
import type { Request } from 'express';
import { type Precondition, tagOf } from '../commands/preconditions.js';
import { Pauses } from '../supervision/waiting.js';
import type { Encoding } from './compression.js';
import { badRequest } from './errors.js';
import { bytesOf, type JsonText } from './jsonAnswer.js';

/** Bytes that are hashed without a pause. */
const PIECE_BYTES = 1_048_576;

/** The tag of an answer that has none of its own. */
export async function tagOfText(body: JsonText): Promise<string> {
  if (typeof body === 'string') return tagOf(body);
  const [only, ...others] = body;
  if (others.length === 0 && bytesOf(body) <= PIECE_BYTES) return tagOf(only ?? '');
  const pauses = new Pauses();
  const hash = createHash('sha256');
  for (const part of body) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      hash.update(bytes.subarray(at, at + PIECE_BYTES));
      if (pauses.isDue()) await pauses.take();
    }
  }
  return tagOf(hash.digest());
}

/** As a header field. Compressed, the bytes are others, and so is a strong tag. */
export const etag = (tag: string, encoding?: Encoding): string =>
  encoding === undefined ? `"${tag}"` : `"${tag}.${encoding}"`;

/** Whether the client asks for what it may have already. */
export const mayHaveAnswer = (req: Request): boolean => req.headers['if-none-match'] !== undefined;

/** The ETag under which the client has what this tag stands for; undefined when it has not. */
export function heldTag(req: Request, tag: string): string | undefined {
  const given = req.headers['if-none-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return etag(tag);
  return tagsIn(given)?.find(({ tags }) => tags.includes(tag))?.text;
}

/**
 * What a change insists on. A weak tag is taken for the strong one that it was made of: a proxy that compresses answers
 * weakens their tags, and leaves the client no other to send (RFC 9110 §13.1.1 would never let it match). Ours stand for
 * the values of a record, whichever bytes they are sent in. @throws HttpError 400 for what is no list of tags
 */
export function preconditionOf(req: Request): Precondition | undefined {
  const given = req.headers['if-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return 'any';
  const list = tagsIn(given);
  if (list === undefined) throw badRequest('If-Match must be the ETag of the record, such as "abc", or *.');
  return list.flatMap(({ tags }) => tags);
}

/** `etagc` (RFC 9110 §8.8.3); a comma is one. */
const TAG = /^[\x21\x23-\x7e\x80-\xff]*$/;
/** Before, between and behind tags; elements of a list may be empty (RFC 9110 §5.6.1.2). */
const BEFORE = /^[ \t,]*(?:W\/)?$/;
const BETWEEN = /^[ \t]*,[ \t,]*(?:W\/)?$/;
const BEHIND = /^[ \t,]*$/;
/** What `etag` puts behind, and what Apache, Caddy and Jetty do where they compress. */
const ENDINGS = [/\.(?:br|gzip|zstd|deflate)$/, /-(?:br|gzip|zstd|deflate)$/, /--(?:br|gzip|zstd|deflate)$/];

/** `text` is without the mark of a weak one; `tags` are those of ours that it can have been made of. */
type EntityTag = { readonly tags: readonly string[]; readonly text: string };

/** Undefined for what is no list of tags, or an empty one. */
function tagsIn(list: string): readonly EntityTag[] | undefined {
  // No tag has a quotation mark in it: every second part is one.
  const parts = list.split('"');
  const last = parts.length - 1;
  const isList = parts.every((part, at) =>
    (at % 2 === 1 ? TAG : at === last ? BEHIND : at === 0 ? BEFORE : BETWEEN).test(part),
  );
  if (!isList || last < 2 || last % 2 === 1) return undefined;
  const tags = parts.filter((_, at) => at % 2 === 1);
  // A tag of ours may end in a hyphen: with one more before the ending it is one of two.
  const ours = (tag: string) => [...new Set([tag, ...ENDINGS.map((ending) => tag.replace(ending, ''))])];
  return tags.map((tag) => ({ tags: ours(tag), text: `"${tag}"` }));
}
