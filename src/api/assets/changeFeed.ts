/**
 * The changes of a table after a cursor. The events say which records changed, the read models say what they are now. A
 * client that applies all of them has the table's current state. The service keeps nothing for a client.
 */
import { MAX_CHANGE_EVENTS, MAX_CHANGES } from '../../domain/limits.js';
import { changedIds } from '../../domain/referenceTable/changes.js';
import { forgottenBefore } from '../../domain/referenceTable/deletionHistory.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { RecordJson, RecordReads, TableRef } from '../../ports/readModels.js';
import type { Cancellation } from '../../supervision/cancellation.js';

/** A position in the changes of a table. */
export type FeedCursor = {
  /** Revision of the last event that was read; -1 before the first. */
  readonly revision: Revision;
  /** Identifies the log, so that a replaced one is noticed; '' before the first event. */
  readonly eventId: string;
  /**
   * Progress within the event: how many of the ids it names were read, and the last of those it cleaned up. Undefined
   * if it was read entirely.
   */
  readonly within?: { readonly named: number; readonly cleanedUp: string } | undefined;
};

export type Changes = {
  /** Each id once. A deleted record is null. */
  readonly changed: readonly { readonly id: string; readonly record: RecordJson | null }[];
  readonly next: FeedCursor;
  /** More changes are available now. */
  readonly hasMore: boolean;
};

export type FeedDeps = {
  /** ISO 8601. */
  readonly now: () => string;
  readonly eventStore: Pick<EventStore, 'readStream'>;
  readonly readModels: Pick<RecordReads, 'byIds' | 'cleanedUpIds'>;
};

type Feed = FeedDeps & { readonly table: TableRef; readonly cancellation: Cancellation };

/** The cursor of the table's current state. */
export async function currentCursor(
  { eventStore, readModels }: Pick<FeedDeps, 'eventStore' | 'readModels'>,
  table: TableRef,
  cancellation?: Cancellation,
): Promise<FeedCursor> {
  const { revision } = await readModels.byIds(table, [], cancellation);
  const [event] = revision < 0 ? [] : await eventStore.readStream(streamOf(table), revision, revision);
  return event === undefined ? BEFORE_ALL : { revision, eventId: event.id };
}

const BEFORE_ALL: FeedCursor = { revision: -1, eventId: '' };

const streamOf = ({ tenant, table }: TableRef): string => tableStream(tenant, table);

/** @returns undefined if the log does not have the cursor's event, or deletions after it are no longer known */
export async function changesAfter(feed: Feed, from: FeedCursor): Promise<Changes | undefined> {
  if (!(await holds(feed, from))) return undefined;
  const { table, readModels, cancellation } = feed;
  const { revision: shown } = await readModels.byIds(table, [], cancellation);
  /** For each id, the cursor before it. */
  const found = new Map<string, FeedCursor>();
  let end = from;
  for await (const step of stepsAfter(feed, from, shown)) {
    if (step === 'forgotten') return undefined;
    const { id, place } = step;
    if (id !== undefined && !found.has(id)) {
      if (found.size === MAX_CHANGES) break;
      found.set(id, end);
    }
    end = place;
  }
  const ids = [...found.keys()];
  const { records } = ids.length === 0 ? { records: [] } : await readModels.byIds(table, ids, cancellation);
  const next = found.get(ids[records.length] ?? '') ?? end;
  const changed = records.map((record, at) => ({ id: ids[at] ?? '', record }));
  return { changed, next, hasMore: next.within !== undefined || next.revision < shown };
}

async function holds({ eventStore, table }: Feed, { revision, eventId }: FeedCursor): Promise<boolean> {
  if (revision < 0) return true;
  const [event] = await eventStore.readStream(streamOf(table), revision, revision);
  return event?.id === eventId;
}

/** An event may have 400,000 bytes, and one may fill a page; the number of events grows while the page does not. */
const FIRST_EVENTS = 2;
const MOST_EVENTS = 32;

/** `place` is the cursor after this step. */
type Step = { readonly id?: string; readonly place: FeedCursor } | 'forgotten';

/** Changes after a cursor, up to a revision or the limit of one page. */
async function* stepsAfter(feed: Feed, from: FeedCursor, shown: Revision): AsyncGenerator<Step> {
  const { eventStore, table, cancellation } = feed;
  const first = from.within === undefined ? from.revision + 1 : from.revision;
  const last = Math.min(shown, first + MAX_CHANGE_EVENTS - 1);
  let atOnce = FIRST_EVENTS;
  for (let at = first; at <= last; at += atOnce, atOnce = Math.min(2 * atOnce, MOST_EVENTS)) {
    cancellation.throwIfCancelled();
    for (const event of await eventStore.readStream(streamOf(table), at, Math.min(last, at + atOnce - 1))) {
      yield* stepsWithin(feed, event, event.revision === from.revision ? from.within : undefined);
    }
  }
}

async function* stepsWithin(
  { readModels, table, cancellation, now }: Feed,
  event: RecordedEvent,
  { named, cleanedUp }: NonNullable<FeedCursor['within']> = { named: 0, cleanedUp: '' },
): AsyncGenerator<Step> {
  const { revision, id: eventId } = event;
  const { ids, isCleanUp } = changedIds({ type: event.type, data: event.data } as ReferenceTableEvent);
  for (const [at, id] of ids.entries()) {
    if (at >= named) yield { id, place: { revision, eventId, within: { named: at + 1, cleanedUp: '' } } };
  }
  if (isCleanUp && event.metadata.occurredAt < forgottenBefore(now())) yield 'forgotten';
  let behind = cleanedUp;
  for (let mayBeMore = isCleanUp; mayBeMore; ) {
    const page = { behind, limit: MAX_CHANGES };
    const gone = await readModels.cleanedUpIds(table, revision, page, cancellation);
    for (const id of gone) yield { id, place: { revision, eventId, within: { named: ids.length, cleanedUp: id } } };
    behind = gone.at(-1) ?? behind;
    mayBeMore = gone.length === MAX_CHANGES;
  }
  yield { place: { revision, eventId } };
}
