/** Pages of lists that are in memory, by a cursor that names the last entry. */
import { z } from 'zod';
import { MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import type { Api } from '../deps.js';
import type { Call, Reply } from '../routes/operation.js';
import { requestUrl } from '../tenantHost.js';

const shortText = (description: string) =>
  z
    .string()
    .max(MAX_STRING_LENGTH, `must be at most ${MAX_STRING_LENGTH} characters.`)
    .optional()
    .meta({ description });

export const pageQuery = z.strictObject({
  search: shortText('Part of the name.'),
  after: shortText('The cursor behind the previous page, as `links.next` has it.'),
});

export type Page<Entry> = { readonly entries: readonly Entry[]; readonly next: string | undefined };

/** @param sorted ascending by their keys */
export function pageAfter<Entry>(
  sorted: readonly Entry[],
  keyOf: (entry: Entry) => string,
  after: string | undefined,
): Page<Entry> {
  const rest = after === undefined ? sorted : sorted.filter((entry) => keyOf(entry) > after);
  const entries = rest.slice(0, MAX_SHORT_PAGE);
  const last = entries.at(-1);
  return { entries, next: rest.length > entries.length && last !== undefined ? keyOf(last) : undefined };
}

/** The same page of the request's list, from another cursor; null without one. */
export function nextLink(api: Api, { req, query }: Call, cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  const next = new URLSearchParams(query);
  next.set('after', cursor);
  return `${requestUrl(req, api.config)}?${next}`;
}

export const pageReply = (api: Api, call: Call, data: readonly unknown[], next: string | undefined): Reply => ({
  body: JSON.stringify({ data, links: { next: nextLink(api, call, next) } }),
});
