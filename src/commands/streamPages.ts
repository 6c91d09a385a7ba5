/** Reads a stream of any length page by page, with few of its events in memory. */
import type { EventStore, RecordedEvent, Revision } from '../ports/eventStore.js';

/** An event may have a megabyte, and many requests read at the same time. */
const EVENTS_A_PAGE = 100;

/** Pages of at least one event, the last page first, each in stream order. */
export async function* streamPagesBackwards(
  eventStore: Pick<EventStore, 'readStream'>,
  stream: string,
  toRevision: Revision,
  eventsAPage = EVENTS_A_PAGE,
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  for (let to = toRevision; to >= 0; to -= eventsAPage) {
    yield await eventStore.readStream(stream, Math.max(0, to - eventsAPage + 1), to);
  }
}

/** Pages of at least one event, in stream order; none for an unknown stream. */
export async function* streamPages(
  eventStore: Pick<EventStore, 'readStream'>,
  stream: string,
  fromRevision: Revision = 0,
  toRevision: Revision = Number.MAX_SAFE_INTEGER,
): AsyncGenerator<readonly RecordedEvent[], void, void> {
  for (let from = fromRevision; from <= toRevision; from += EVENTS_A_PAGE) {
    const events = await eventStore.readStream(stream, from, Math.min(from + EVENTS_A_PAGE - 1, toRevision));
    if (events.length > 0) yield events;
    if (events.length < EVENTS_A_PAGE) return;
  }
}
