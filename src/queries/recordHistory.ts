/** The history of a record or of a part of an order: what it was and became, and the events that did it, from the activity. */
import type { ActivityKind } from '../domain/activity.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { RowReads, SpaceRef } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityEntry } from './activity.js';
import { entriesOf } from './activity.js';
import { isOneOf } from './asking.js';
import { differenceOf, historyOf, type Transition } from './past.js';

type Entry = ActivityEntry & { readonly n: number };

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
  const found: (Pick<RecordHistoryEntry, 'change' | 'id' | 'fields'> & Pick<Transition, 'place'>)[] = [];
  let [isKnown, bytes] = [false, 0];
  let next: Position | undefined;
  for await (const transition of historyOf(rows, space, id, before, cancellation)) {
    isKnown = true;
    const difference = differenceOf(transition);
    bytes += charactersOf(difference.fields);
    if (found.length === limit || (found.length > 0 && bytes > MAX_HISTORY_PAGE_BYTES)) {
      next = found.at(-1)?.place[0];
      break;
    }
    found.push({ ...difference, place: transition.place });
  }
  if (!isKnown && before === undefined) return undefined;
  const events = await eventsAt(rows, space, new Set(found.map(({ place }) => place[0])), cancellation);
  const entries: RecordHistoryEntry[] = [];
  for (const { place, ...difference } of found) {
    const event = eventOf(events.get(place[0]) ?? [], id);
    if (event === undefined) continue;
    const operation = await operationOf(rows, space, event, cancellation);
    entries.push({ ...difference, event, eventType: typeOf(event), operation });
  }
  return { entries, next };
}

async function eventsAt(
  rows: RowReads,
  { tenant }: SpaceRef,
  positions: ReadonlySet<Position>,
  cancellation: Cancellation | undefined,
): Promise<ReadonlyMap<Position, readonly Entry[]>> {
  const events = new Map<Position, Entry[]>();
  if (positions.size === 0) return events;
  const conditions = [isOneOf('position', [...positions]), isOneOf('kind', HISTORY_KINDS)];
  for await (const entry of entriesOf(rows, tenant, { conditions, direction: 'asc' }, cancellation)) {
    events.set(entry.position, [...(events.get(entry.position) ?? []), entry]);
  }
  return events;
}

/** Events of one append may share a position: the one that names the row, else the first. */
const eventOf = (events: readonly Entry[], id: string): Entry | undefined =>
  events.find(({ subject }) => subject?.id.toLowerCase() === id) ?? events[0];

/** The first event of the operation in the event's append: all of it follow one another. */
async function operationOf(
  rows: RowReads,
  { tenant }: SpaceRef,
  event: Entry,
  cancellation: Cancellation | undefined,
): Promise<Revision | undefined> {
  if (!event.kind.startsWith('table.')) return undefined;
  let first = event.revision;
  if (event.kind === 'table.clean_up') return first;
  const earlier = { conditions: [], direction: 'desc', behind: event.n } as const;
  for await (const { kind, table, causationId, revision } of entriesOf(rows, tenant, earlier, cancellation, FEW)) {
    if (kind !== event.kind || table !== event.table || causationId !== event.causationId) break;
    first = revision;
  }
  return first;
}

/** Most batches are one event. */
const FEW = 4;

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
