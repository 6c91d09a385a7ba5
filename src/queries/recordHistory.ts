/** The history of a record or of a part of an order: what it was and became, and the events that did it, from the activity. */
import type { ActivityKind } from '../domain/eventTypes.js';
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

type RecordHistoryPage = {
  /** Newest first. */
  readonly entries: readonly RecordHistoryEntry[];
  /** The next page has those before this position; undefined on the last. */
  readonly next?: Position | undefined;
};

type AskedHistory = { readonly id: string; readonly before?: Position | undefined; readonly limit: number };

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

/** A page of the history; undefined if there never was such a row. @throws the cancellation's reason */
export async function recordHistory(
  rows: RowReads,
  space: SpaceRef,
  { id, before, limit }: AskedHistory,
  cancellation: Cancellation | undefined,
): Promise<RecordHistoryPage | undefined> {
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
  const events = new Map<Position, Entry[]>();
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

type Entry = ActivityEntry & { readonly n: number };

/** The first event of the operation in the event's append: all of it follow one another. */
async function operationOf(
  rows: RowReads,
  tenant: string,
  { kind, table, causationId, revision, n: behind }: Entry,
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

/** The type of the event that changed records: of each kind there is one, but of undos, and of orders with parts. */
function typeOf({ kind, counts }: ActivityEntry): string {
  if (kind === 'table.undo') return (counts?.created ?? 0) > 0 ? 'BatchUpserted' : 'BatchUndone';
  return TYPES.get(kind) ?? '';
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['record.created', 'RecordCreated'],
  ['record.changed', 'RecordChanged'],
  ['table.batch', 'BatchUpserted'],
  ['table.clean_up', 'TableCleanedUp'],
  ['order.created', 'OrderCreatedWithParts'],
  ['order.part_added', 'OrderPartAdded'],
  ['order.part_changed', 'OrderPartChanged'],
  ['order.parts_changed', 'OrderPartsChanged'],
]);
