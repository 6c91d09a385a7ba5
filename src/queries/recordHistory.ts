/** The history of a record or of a part of an order: what it was and became, and the events that did it, from the activity. */
import { ACTIVITIES, type ActivityKind } from '../domain/eventTypes.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads, SpaceRef } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { type ActivityEntry, entriesOf } from './activity.js';
import { NEWEST_FIRST, where } from './asking.js';
import { differenceOf, historyOf } from './past.js';

export type RecordHistoryEntry = ReturnType<typeof differenceOf> & {
  readonly event: ActivityEntry;
  readonly eventType: string;
  /** Revision of the first event of the batch, clean-up or undo that made the change. */
  readonly operation?: Revision | undefined;
};

/** Kinds of events that change records or parts. Other events of the same append are about an order, or a setting. */
export const HISTORY_KINDS = [
  'record.created',
  'record.changed',
  'table.batch',
  'table.clean_up',
  'table.undo',
  'order.created',
  'order.part_added',
  'order.part_changed',
  'order.parts_changed',
] as const satisfies readonly ActivityKind[];

/**
 * A page of the history, newest first; undefined if there never was such a row. The next page has what is before `next`, which
 * is undefined on the last. @throws the cancellation's reason
 */
export async function recordHistory(
  rows: RowReads,
  space: SpaceRef,
  { id, before, limit }: { readonly id: string; readonly before?: Position | undefined; readonly limit: number },
  cancellation: Cancellation | undefined,
): Promise<{ readonly entries: readonly RecordHistoryEntry[]; readonly next?: Position | undefined } | undefined> {
  const found: { readonly difference: ReturnType<typeof differenceOf>; readonly position: Position }[] = [];
  let bytes = 0;
  let next: Position | undefined;
  for await (const transition of historyOf(rows, space, { id, until: before, atOnce: limit + 1 }, cancellation)) {
    const difference = differenceOf(transition);
    bytes += charactersOf(difference.fields);
    if (found.length === limit || (found.length > 0 && bytes > MAX_HISTORY_PAGE_BYTES)) {
      next = found.at(-1)?.position;
      break;
    }
    found.push({ difference, position: transition.place[0] });
  }
  if (found.length === 0) return before === undefined ? undefined : { entries: [] };
  const events = new Map<Position, ActivityEntry[]>();
  const conditions = where({ position: found.map(({ position }) => position), kind: HISTORY_KINDS });
  for await (const entry of entriesOf(rows, space.tenant, { conditions }, cancellation))
    events.set(entry.position, [...(events.get(entry.position) ?? []), entry]);
  const entries: RecordHistoryEntry[] = [];
  for (const { difference, position } of found) {
    const ofAppend = events.get(position) ?? [];
    // Events of one append may share a position: the one that names the row, else the first.
    const event = ofAppend.find(({ subject }) => subject?.id.toLowerCase() === id) ?? ofAppend[0];
    if (event === undefined) continue;
    const operation = await operationOf(rows, space.tenant, event, cancellation);
    entries.push({ ...difference, event, eventType: typeOf(event), operation });
  }
  return { entries, next };
}

/** The first event of the operation in the event's append: all of it follow one another. */
async function operationOf(
  rows: RowReads,
  tenant: string,
  { kind, table, causationId, revision, n: behind }: ActivityEntry,
  cancellation: Cancellation | undefined,
): Promise<Revision | undefined> {
  if (!kind.startsWith('table.')) return undefined;
  let first = revision;
  // Most batches are one event.
  const earlier = { ...NEWEST_FIRST, behind, limit: 4 };
  if (kind !== 'table.clean_up')
    for await (const entry of entriesOf(rows, tenant, earlier, cancellation)) {
      if (entry.kind !== kind || entry.table !== table || entry.causationId !== causationId) break;
      first = entry.revision;
    }
  return first;
}

/** The type of event of each kind; of orders that of one with parts. */
const TYPES: ReadonlyMap<string, string> = new Map([...ACTIVITIES].map(([type, kind]) => [kind, type]));

/** The type of the event that changed records: an undo of a clean-up creates them again as a batch. */
const typeOf = ({ kind, counts }: ActivityEntry): string =>
  kind === 'table.undo' && (counts?.created ?? 0) > 0 ? 'BatchUpserted' : (TYPES.get(kind) ?? '');
