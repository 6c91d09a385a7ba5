/**
 * What has changed in a table behind a place of its stream. The events say whose records changed, and the read models say
 * what these records are now: whoever has got all that is behind a place has what the table has. Nothing is kept for it.
 */
import { MAX_CHANGE_EVENTS, MAX_CHANGES } from '../../domain/limits.js';
import { changedIds } from '../../domain/referenceTable/changes.js';
import { forgottenBefore } from '../../domain/referenceTable/deletionHistory.js';
import type { ReferenceTableEvent } from '../../domain/referenceTable/events.js';
import { tableStream } from '../../domain/streams.js';
import type { EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import type { RecordJson, RecordQueries, TableRef } from '../../ports/readModels.js';
import type { Cancellation } from '../../supervision/cancellation.js';

/** Where somebody who follows a table is. */
export type FeedCursor = {
  /** Of the event that was read last; -1 before the first. */
  readonly revision: Revision;
  /** By which the log is known again; '' before the first event. */
  readonly eventId: string;
  /** How many of the ids that the event names were read, and the last of those that it cleanedUp; undefined: all of it. */
  readonly within?: { readonly named: number; readonly cleanedUp: string } | undefined;
};

export type Changes = {
  /** Each id once. Without a record it is deleted. */
  readonly changed: readonly { readonly id: string; readonly record: RecordJson | null }[];
  readonly next: FeedCursor;
  /** More is shown already. */
  readonly hasMore: boolean;
};

export type FeedDeps = {
  /** ISO 8601. */
  readonly now: () => string;
  readonly eventStore: Pick<EventStore, 'readStream'>;
  readonly readModels: Pick<RecordQueries, 'byIds' | 'cleanedUpIds'>;
};

type Feed = FeedDeps & { readonly table: TableRef; readonly cancellation: Cancellation };

/** Where the table is now. */
export async function latestPlace(
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

/** @returns undefined when the log does not hold the place (any more), or it is not known what was deleted behind it */
export async function changesBehind(feed: Feed, from: FeedCursor): Promise<Changes | undefined> {
  if (!(await holds(feed, from))) return undefined;
  const { table, readModels, cancellation } = feed;
  const { revision: shown } = await readModels.byIds(table, [], cancellation);
  /** By id, the place before it. */
  const found = new Map<string, FeedCursor>();
  let end = from;
  for await (const step of stepsBehind(feed, from, shown)) {
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

/** An event may have 400,000 bytes, and one of those may fill a page: more are read at once as long as it does not. */
const FIRST_EVENTS = 2;
const MOST_EVENTS = 32;

/** To `place` all is known, `id` included. */
type Step = { readonly id?: string; readonly place: FeedCursor } | 'forgotten';

/** What changed behind a place, up to a revision, or to the end of what one page looks at. */
async function* stepsBehind(feed: Feed, from: FeedCursor, shown: Revision): AsyncGenerator<Step> {
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
