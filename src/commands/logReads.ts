/**
 * How commands and the API read the log: streams in pages, with few of the events in memory; and how they wait until the rows
 * show what it has.
 */
import { tableStream, tenantOf } from '../domain/streams.js';
import type { EventStore, Position, RecordedEvent, Revision } from '../ports/eventStore.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { nextTurn } from '../supervision/waiting.js';
import { type Caller, type Commands, patience, TryLaterError } from './context.js';

export type StreamReads = Pick<EventStore, 'readSlice'>;

export type PagesOf = {
  /** Default: the first event. */
  readonly from?: Revision;
  /** Default: the last event. */
  readonly to?: Revision | undefined;
  /** Default: 100. Many small events take long as well. */
  readonly eventsAPage?: number;
  /** The last page first; each is in stream order. Names `to`. */
  readonly backwards?: boolean;
  /** Ends the reading before the next page. */
  readonly cancellation?: Cancellation | undefined;
};

/** Pages of at least one event; none for an unknown stream. @throws the cancellation's reason */
export async function* streamPages(
  log: StreamReads,
  stream: string,
  { from = 0, to = Number.MAX_SAFE_INTEGER, eventsAPage = 100, backwards = false, cancellation }: PagesOf = {},
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  for (let rest = { from, to }; rest.from <= rest.to; ) {
    cancellation?.throwIfCancelled();
    const { events, next } = await log.readSlice(stream, { ...rest, maxCount: eventsAPage, backwards });
    if (events.length > 0) yield events;
    if (next === undefined) return;
    rest = backwards ? { from, to: next } : { from: next, to };
    // A stream has no limit, and the embedded log reads on this thread.
    await nextTurn();
  }
}

/** The first event; undefined if there is none. */
export const firstEvent = async (log: StreamReads, stream: string): Promise<RecordedEvent | undefined> =>
  (await log.readSlice(stream, { from: 0, to: 0, maxCount: 1 })).events[0];

/** How long to wait for the rows, in milliseconds. */
const CATCH_UP_MS = 30_000;

/**
 * Waits until they show everything of the tenant, or of this table, that was written so far, by any process.
 * @throws RowsUnavailableError while they are not shown at all; TryLaterError when it takes too long
 */
export async function untilShown(
  { eventStore, progress }: Pick<Commands, 'eventStore' | 'progress'>,
  caller: Caller,
  table?: string,
): Promise<void> {
  const { tenant } = caller;
  const position =
    table === undefined
      ? await tenantEnd({ eventStore, progress }, tenant)
      : (await eventStore.lastAppend(tableStream(tenant, table)))?.position;
  if (position === undefined || (await progress.waitFor(tenant, position, patience(caller, CATCH_UP_MS)))) return;
  const refusal = progress.refusal(tenant);
  if (refusal !== undefined) throw new RowsUnavailableError(refusal);
  throw new TryLaterError(`The rows of ${table ?? tenant} have not caught up yet.`);
}

/** Events that are read at a time. Where none is the tenant's, it ends somewhere behind them. */
const READ_AT_A_TIME = [20, 200, 1_000];

/** A position that the tenant's rows have when they show all that the log has of it now; 0 if it has nothing. */
export async function tenantEnd(
  { eventStore, progress }: Pick<Commands, 'eventStore' | 'progress'>,
  tenant: string,
): Promise<Position> {
  // Nothing has to be read for it.
  if (progress.isTold) return eventStore.head();
  let before: Position | undefined;
  for (const count of READ_AT_A_TIME) {
    const { events, next } = await eventStore.readBackwards(count, before);
    const own = events.filter((event) => tenantOf(event) === tenant).map(({ position }) => position);
    if (own.length > 0) return Math.max(...own);
    if (next === undefined) return 0;
    before = next;
  }
  return before ?? 0;
}
