/** Pages of lists that are in memory, by a cursor that names the last entry. */
import { z } from 'zod';
import { MAX_SHORT_PAGE, MAX_STRING_LENGTH } from '../../domain/limits.js';
import { nextLink } from '../assets/pages.js';
import type { Api } from '../deps.js';
import type { Call, Reply } from '../routes/operation.js';

const shortText = z.string().max(MAX_STRING_LENGTH, `must be at most ${MAX_STRING_LENGTH} characters.`).optional();

export const pageQuery = z.strictObject({
  search: shortText,
  after: shortText,
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

export const pageReply = (api: Api, call: Call, data: readonly unknown[], next: string | undefined): Reply => ({
  body: JSON.stringify({ data, links: { next: nextLink(api, call, next, 'after') } }),
});
