/** The one way in which commands and the API read streams: in pages, with few of the events in memory. */
import type { EventStore, RecordedEvent, Revision } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { nextTurn } from '../supervision/waiting.js';

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
