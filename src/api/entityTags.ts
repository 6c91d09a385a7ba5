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
  const [whole, ...others] = body;
  if (others.length === 0 && bytesOf(body) <= PIECE_BYTES) return tagOf(whole ?? '');
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
  return tagsIn(given)?.find((held) => held.tag === tag)?.text;
}

/** What a change insists on. @throws HttpError 400 for what is no list of tags */
export function preconditionOf(req: Request): Precondition | undefined {
  const given = req.headers['if-match'];
  if (given === undefined) return undefined;
  if (given.trim() === '*') return 'any';
  const tags = tagsIn(given);
  if (tags === undefined) throw badRequest('If-Match must be the ETag of the record, such as "abc", or *.');
  // What is only equivalent does not match (RFC 9110 §13.1.1).
  return tags.filter(({ isWeak }) => !isWeak).map(({ tag }) => tag);
}

const ENTITY_TAG = /^(W\/)?"([^"\s]*)"$/;
/** What `etag` puts behind. */
const ENDING = /\.(?:br|gzip)$/;

/** `text` is without the mark of a weak one. */
type EntityTag = { readonly isWeak: boolean; readonly tag: string; readonly text: string };

/** Undefined for what is no list of tags. Ours have no commas, so one of somebody else's that has is none of ours. */
function tagsIn(list: string): readonly EntityTag[] | undefined {
  const tags = [];
  for (const text of list.split(',')) {
    const [, weak, tag] = ENTITY_TAG.exec(text.trim()) ?? [];
    if (tag === undefined) return undefined;
    tags.push({ isWeak: weak !== undefined, tag: tag.replace(ENDING, ''), text: `"${tag}"` });
  }
  return tags;
}
