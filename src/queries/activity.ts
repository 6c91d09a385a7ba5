/** The activity of a tenant: rows of its space, the newest first. Positions decide what comes before what, never clocks. */
import type { Activity, Counts } from '../domain/activity.js';
import type { ActivityKind } from '../domain/eventTypes.js';
import { MAX_ACTIVITY_ROWS } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { EventMetadata, Position, Revision } from '../ports/eventStore.js';
import type { Condition, PageQuery, StoredRow } from '../ports/rowStore.js';
import { NEWEST_FIRST, type Rows, rowsOf, told, where } from './asking.js';

export type ActivityEntry = Activity & {
  /** Time of its event; of several events together, as the position and the revision, that of the first. */
  readonly at: string;
  readonly position: Position;
  readonly revision: Revision;
  readonly eventId: string;
  /** With the name at that time, unless an earlier release wrote the event. */
  readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
  readonly correlationId: string;
  readonly causationId: string;
  readonly request?: EventMetadata['request'];
  /** Its number in the order of the log. */
  readonly n: number;
};

export const entryOf = (row: StoredRow): ActivityEntry => ({
  ...told<Omit<ActivityEntry, 'at' | 'eventId' | 'n'>>(row),
  at: row.created,
  eventId: row.id,
  n: row.n,
});

/** Entries in the order of the log, or the newest first. */
export async function* entriesOf(
  rows: Rows,
  tenant: string,
  asked: Partial<PageQuery>,
): AsyncGenerator<ActivityEntry, undefined> {
  for await (const row of rowsOf(rows, { tenant, space: ACTIVITY.name }, asked)) yield entryOf(row);
}

/** The newest entry for which all hold. */
export const newestEntry = async (
  rows: Rows,
  tenant: string,
  conditions: readonly Condition[],
): Promise<ActivityEntry | undefined> =>
  (await entriesOf(rows, tenant, { ...NEWEST_FIRST, conditions, limit: 1 }).next()).value;

/** Kinds of activity that an undo takes back; with the undos, the operations on a table. */
export const UNDOABLE: readonly ActivityKind[] = ['table.batch', 'table.clean_up', 'record.deleted'];
export const TABLE_OPERATIONS: readonly ActivityKind[] = [...UNDOABLE, 'table.undo'];

export const isTableOperation = ({ kind }: Pick<ActivityEntry, 'kind'>): boolean => TABLE_OPERATIONS.includes(kind);

/** The batch ids that an operation carried, or that a clean-up kept. */
export const batchIdsOf = ({ details }: Pick<ActivityEntry, 'details'>): readonly string[] =>
  Array.isArray(details?.batch_ids) ? details.batch_ids.map(String) : [];

const NOTHING: Counts = { created: 0, updated: 0, seen: 0, deleted: 0 };
export const countsOf = ({ counts = NOTHING }: Pick<ActivityEntry, 'counts'>): Counts => counts;

/** A batch is an event for each of its batch ids, and an undo one append for each piece. */
const isPartOf = (older: ActivityEntry, newer: ActivityEntry): boolean =>
  isTableOperation(older) &&
  older.kind === newer.kind &&
  older.table === newer.table &&
  older.correlationId === newer.correlationId;

function together(older: ActivityEntry, newer: ActivityEntry): ActivityEntry {
  const [a, b] = [countsOf(older), countsOf(newer)];
  const counts = {
    created: a.created + b.created,
    updated: a.updated + b.updated,
    seen: a.seen + b.seen,
    deleted: a.deleted + b.deleted,
  };
  const batch_ids = [...new Set([...batchIdsOf(older), ...batchIdsOf(newer)])];
  return { ...older, counts, details: { ...older.details, batch_ids } };
}

type ActivityQuery = {
  readonly conditions: readonly Condition[];
  /** Only what is older than the entry there. */
  readonly before?: Pick<ActivityEntry, 'position' | 'revision'> | undefined;
  readonly limit: number;
  readonly isWanted?: (entry: ActivityEntry) => boolean;
};

const ENTRIES_AT_ONCE = 1_000;

/**
 * A page of the activity, newest first. The events of an operation follow one another and are one entry. It looks at some
 * MAX_ACTIVITY_ROWS events, and so may have fewer entries than `limit` and still a next one.
 * @returns `next`: the next page is what is before this entry; undefined on the last
 */
export async function activityPage(
  rows: Rows,
  tenant: string,
  { conditions, before, limit, isWanted = () => true }: ActivityQuery,
): Promise<{ readonly entries: readonly ActivityEntry[]; readonly next?: ActivityEntry | undefined }> {
  let behind: number | undefined;
  if (before !== undefined) {
    // Events of one append may share a position.
    const there = where({ position: before.position, revision: { gte: before.revision } });
    behind = (await entriesOf(rows, tenant, { conditions: there, limit: 1 }).next()).value?.n;
    if (behind === undefined) return { entries: [] };
  }
  const entries: ActivityEntry[] = [];
  let last: ActivityEntry | undefined;
  let events = 0;
  const asked = { ...NEWEST_FIRST, conditions, behind, limit: Math.min(limit + 1, ENTRIES_AT_ONCE) };
  for await (const entry of entriesOf(rows, tenant, asked)) {
    events += 1;
    if (last !== undefined && isPartOf(entry, last)) {
      last = together(entry, last);
      continue;
    }
    if (last !== undefined && isWanted(last)) entries.push(last);
    if (entries.length === limit || events > MAX_ACTIVITY_ROWS) return { entries, next: last };
    last = entry;
  }
  return { entries: last !== undefined && isWanted(last) ? [...entries, last] : entries };
}
