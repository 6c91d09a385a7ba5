/** What events did to records: the history of one, newest first, with the events; and all that an operation did. */
import { ACTIVITY_KINDS } from '../domain/eventTypes.js';
import { charactersOf } from '../domain/jsonSize.js';
import { MAX_DOCUMENT_BYTES, MAX_ENTRIES, MAX_RECORDS } from '../domain/limits.js';
import type { Position, Revision } from '../ports/eventStore.js';
import type { SpaceRef } from '../ports/rowStore.js';
import {
  type ActivityEntry,
  activityPage,
  entriesOf,
  isTableOperation,
  newestEntry,
  TABLE_OPERATIONS,
  UNDOABLE,
} from './activity.js';
import { type Rows, roomFor, where } from './asking.js';
import { changeOf, historyOf, type Place, type Transition, transitionsIn } from './past.js';

export type RecordHistoryEntry = ReturnType<typeof changeOf> & {
  readonly event: ActivityEntry;
  /** Revision of the first event of the batch, clean-up or undo that made the change. */
  readonly operation?: Revision | undefined;
};

/** Kinds of events that change records or parts. Other events of the same append are about an order, or a setting. */
export const HISTORY_KINDS = ACTIVITY_KINDS.filter(
  (kind) => TABLE_OPERATIONS.includes(kind) || /^record\.|^order\.(created|part)/.test(kind),
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
  const found: { readonly difference: ReturnType<typeof changeOf>; readonly position: Position }[] = [];
  const fits = roomFor(limit, MAX_DOCUMENT_BYTES);
  let next: Position | undefined;
  for await (const transition of historyOf(rows, space, { id, until: before, limit: limit + 1 })) {
    const difference = changeOf(transition);
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
    return event === undefined ? [] : [{ ...difference, event }];
  });
  const done = entries.filter(({ event }) => isTableOperation(event)).map(({ event }) => event.correlationId);
  const conditions = where({ table: space.space, kind: TABLE_OPERATIONS, correlation_id: [...new Set(done)] });
  const page =
    done.length === 0 ? undefined : await activityPage(rows, space.tenant, { conditions, limit: MAX_ENTRIES });
  const operationIn = ({ event }: RecordHistoryEntry) =>
    page?.entries.find((each) => isTableOperation(event) && each.correlationId === event.correlationId)?.revision;
  return { entries: entries.map((entry) => ({ ...entry, operation: operationIn(entry) })), next };
}

/** The batch, the clean-up or the deletion whose first event has this revision. */
export async function tableOperationOf(rows: Rows, { tenant, space: table }: SpaceRef, revision: Revision) {
  const at = (number: Revision) => newestEntry(rows, tenant, where({ table, revision: number, kind: UNDOABLE }));
  const [found, before] = [await at(revision), await at(revision - 1)];
  return before !== undefined && before.causationId === found?.causationId ? undefined : found;
}

/**
 * What a batch or a clean-up did to records, at most MAX_RECORDS of them.
 * @returns `next`: the next page begins behind this place; undefined on the last
 */
export async function doneBy(
  rows: Rows,
  space: SpaceRef,
  { kind, position, causationId }: ActivityEntry,
  start?: Place,
): Promise<{ readonly transitions: readonly Transition[]; readonly next?: Place | undefined }> {
  const transitions: Transition[] = [];
  const fits = roomFor(MAX_RECORDS, MAX_DOCUMENT_BYTES);
  // A batch is an append of several events, which may have positions of their own.
  const conditions = where({ table: space.space, kind, position: { gte: start?.[0] ?? position } });
  let last: Position | undefined;
  for await (const event of entriesOf(rows, space.tenant, { conditions })) {
    if (event.causationId !== causationId) break;
    if (event.position === last) continue;
    last = event.position;
    const behind = start?.[0] === last ? start : undefined;
    const asked = { range: [last - 1, last], behind, limit: MAX_RECORDS } as const;
    for await (const transition of transitionsIn(rows, space, asked)) {
      const { before, after } = transition;
      if (!fits((before?.data.length ?? 0) + (after?.data.length ?? 0)))
        return { transitions, next: transitions.at(-1)?.place };
      transitions.push(transition);
    }
  }
  return { transitions };
}
