/**
 * Entries of the activity as they are shown: a batch of many batch ids, and an undo in pieces, are several events, and one
 * entry. Their events follow one another in the activity, so one reading of it puts them together.
 */
import type { Counts } from '../domain/activity.js';
import { MAX_ACTIVITY_ROWS, MAX_LIST_ENTRIES } from '../domain/limits.js';
import type { ActivityEntry, ActivityPage, ActivityPlace, ActivityQuery } from '../queries/activity.js';
import { OPERATIONS } from '../queries/operations.js';

/** With the place, id and time of its first event, and the counts of all. */
export type ActivityGroup = ActivityEntry;

/** Reads a page of entries that pass the filters. */
export type Activities = (more: Pick<ActivityQuery, 'before' | 'limit'>) => Promise<ActivityPage>;

/** The form of an entry's id. */
export const ENTRY = /^\d{20}\.\d{1,16}\.\d{1,15}$/;

/** A place as text, which is the id of the entry there: digits of its time, position and revision. */
export const idOf = ({ at, position, revision }: ActivityPlace): string =>
  `${at.replaceAll(/\D/g, '')}.${position}.${revision}`;

/** @param id has the form of `idOf` */
export function placeIn(id: string): ActivityPlace {
  const [digits = '', position, revision] = id.split('.');
  const [, year, month, day, hour, minute, second, fraction] =
    /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d{6})$/.exec(digits) ?? [];
  const at = `${year}-${month}-${day}T${hour}:${minute}:${second}.${fraction}Z`;
  return { at, position: Number(position), revision: Number(revision) };
}

export const isOperation = ({ kind }: Pick<ActivityEntry, 'kind'>): boolean => OPERATIONS.includes(kind);

const isPartOf = (older: ActivityEntry, newer: ActivityEntry): boolean =>
  isOperation(older) &&
  older.kind === newer.kind &&
  older.table === newer.table &&
  older.correlationId === newer.correlationId;

function together(older: ActivityEntry, newer: ActivityEntry): ActivityEntry {
  const sumOf = (name: keyof Counts): number => (older.counts?.[name] ?? 0) + (newer.counts?.[name] ?? 0);
  const counts = {
    created: sumOf('created'),
    updated: sumOf('updated'),
    seen: sumOf('seen'),
    deleted: sumOf('deleted'),
  };
  const ids = [older, newer].flatMap(({ details }) => (Array.isArray(details?.batch_ids) ? details.batch_ids : []));
  return { ...older, counts, details: { ...older.details, batch_ids: [...new Set(ids)].slice(0, MAX_LIST_ENTRIES) } };
}

/**
 * A page of at most `limit` groups, newest first.
 * @returns `next`: the place before which the next page begins; undefined on the last
 */
export async function activityGroups(
  read: Activities,
  { before, limit }: { readonly before?: ActivityPlace | undefined; readonly limit: number },
): Promise<{ readonly groups: readonly ActivityGroup[]; readonly next?: ActivityPlace | undefined }> {
  const groups: ActivityGroup[] = [];
  let end = before;
  for (let rows = 0; rows < MAX_ACTIVITY_ROWS; ) {
    const asked = Math.min(limit + 1, ROWS_AT_ONCE);
    const { entries, searchedTo } = await read({ before: end, limit: asked });
    for (const entry of entries) {
      const last = groups.at(-1);
      if (last !== undefined && isPartOf(entry, last)) groups[groups.length - 1] = together(entry, last);
      else if (groups.length === limit) return { groups, next: end };
      else groups.push(entry);
      end = entry;
    }
    rows += entries.length;
    if (searchedTo !== undefined) return { groups, next: searchedTo };
    if (entries.length < asked) return { groups };
  }
  return { groups, next: end };
}

/** Other questions go between. */
const ROWS_AT_ONCE = 1_000;
