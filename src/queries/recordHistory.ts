/** What events did to records: the history of one, newest first, with the events; and all that an entry of the activity did. */
import { ACTIVITIES, ACTIVITY_KINDS } from '../domain/eventTypes.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_DIFFERENCE_CHARACTERS, MAX_ENTRIES, MAX_HISTORY_PAGE_BYTES } from '../domain/limits.js';
import type { RecordDifference } from '../domain/referenceTable/differences.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { SpaceRef } from '../ports/rowStore.js';
import { type ActivityEntry, entriesOf, isOperation, OPERATIONS } from './activity.js';
import { type Rows, roomFor, where } from './asking.js';
import { differenceOf, historyOf, type Place, transitionsIn } from './past.js';

export type RecordHistoryEntry = RecordDifference & {
  readonly event: ActivityEntry;
  readonly eventType: string;
  /** Revision of the first event of the batch, clean-up or undo that made the change. */
  readonly operation?: Revision | undefined;
};

/** Kinds of events that change records or parts. Other events of the same append are about an order, or a setting. */
export const HISTORY_KINDS = ACTIVITY_KINDS.filter(
  (kind) => OPERATIONS.includes(kind) || /^record\.|^order\.(created|part)/.test(kind),
);

/**
 * A page of the history, newest first; undefined if there never was such a row. The next page has what is before `next`, which
 * is undefined on the last.
 */
export async function recordHistory(
  rows: Rows,
  space: SpaceRef,
  { id, before, limit }: { readonly id: string; readonly before?: Position | undefined; readonly limit: number },
): Promise<{ readonly entries: readonly RecordHistoryEntry[]; readonly next?: Position | undefined } | undefined> {
  const found: { readonly difference: RecordDifference; readonly position: Position }[] = [];
  const fits = roomFor(limit, MAX_HISTORY_PAGE_BYTES);
  let next: Position | undefined;
  for await (const transition of historyOf(rows, space, { id, until: before, limit: limit + 1 })) {
    const difference = differenceOf(transition);
    if (!fits(charactersOf(difference.fields))) {
      next = found.at(-1)?.position;
      break;
    }
    found.push({ difference, position: transition.place[0] });
  }
  if (found.length === 0) return before === undefined ? undefined : { entries: [] };
  const ofEvents = { position: found.map(({ position }) => position), kind: HISTORY_KINDS };
  const events: ActivityEntry[] = [];
  for await (const entry of entriesOf(rows, space.tenant, { conditions: where(ofEvents) })) events.push(entry);
  const entries = found.flatMap(({ difference, position }): RecordHistoryEntry[] => {
    // Events of one append may share a position: the one that names the row, else the first.
    const ofAppend = events.filter((each) => each.position === position);
    const event = ofAppend.find(({ subject }) => subject?.id.toLowerCase() === id) ?? ofAppend[0];
    return event === undefined ? [] : [{ ...difference, event, eventType: typeOf(event) }];
  });
  const operations = await operationsOf(rows, space, entries);
  const withOperation = entries.map((entry) => ({ ...entry, operation: operations.get(entry.event.correlationId) }));
  return { entries: withOperation, next };
}

/** The first event of each operation, by the correlation id of its request. */
async function operationsOf(
  rows: Rows,
  { tenant, space: table }: SpaceRef,
  entries: readonly RecordHistoryEntry[],
): Promise<ReadonlyMap<string, Revision>> {
  const first = new Map<string, Revision>();
  const done = entries.filter(({ event }) => isOperation(event)).map(({ event }) => event);
  if (done.length === 0) return first;
  const correlation_id = [...new Set(done.map(({ correlationId }) => correlationId))];
  const conditions = where({ table, kind: OPERATIONS, correlation_id });
  for await (const { correlationId, revision } of entriesOf(rows, tenant, { conditions }))
    if (!first.has(correlationId)) first.set(correlationId, revision);
  return first;
}

/** The type of event of each kind; of orders that of one with parts. */
const TYPES: ReadonlyMap<string, string> = new Map([...ACTIVITIES].map(([type, kind]) => [kind, type]));

/** The type of the event that changed records: an undo of a clean-up creates them again as a batch. */
const typeOf = ({ kind, counts }: ActivityEntry): string =>
  kind === 'table.undo' && (counts?.created ?? 0) > 0 ? 'BatchUpserted' : (TYPES.get(kind) ?? '');

/**
 * What an entry about a table did to its records.
 * @returns `next`: the next page begins behind this place; undefined on the last
 */
export async function tableDifferences(
  rows: Rows,
  tenant: string,
  { kind, table, position, correlationId }: ActivityEntry & { readonly table: string },
  start?: Place,
): Promise<{ readonly differences: readonly RecordDifference[]; readonly next?: Place | undefined }> {
  const differences: RecordDifference[] = [];
  const fits = roomFor(MAX_ENTRIES, MAX_DIFFERENCE_CHARACTERS);
  let next: Place | undefined;
  // A batch is an append of several events, which may have positions of their own; an undo one append for each piece.
  const within = { position: { gte: start?.[0] ?? position }, correlation_id: correlationId };
  const events = entriesOf(rows, tenant, { conditions: where({ table, kind, ...within }) });
  let last: Position | undefined;
  for await (const event of events) {
    if (event.position === last) continue;
    last = event.position;
    const behind = start?.[0] === last ? start : undefined;
    const asked = { range: [last - 1, last], behind, limit: MAX_ENTRIES + 1 } as const;
    for await (const { place, ...transition } of transitionsIn(rows, { tenant, space: table }, asked)) {
      const difference = differenceOf(transition);
      if (!fits(JSON.stringify(difference).length)) return { differences, next };
      differences.push(difference);
      next = place;
    }
  }
  return { differences };
}
