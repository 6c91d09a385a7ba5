/** A log as the appends it was written by, in its order. */
import type { EventStore, Position, RecordedEvent } from '../../ports/eventStore.js';

/** The events of one append: all of one stream, at least one. */
export type Append = {
  readonly stream: string;
  readonly events: readonly RecordedEvent[];
  readonly position: Position;
};

/** Every append up to a position. */
export async function* appendsOf(log: EventStore, until: Position): AsyncGenerator<Append, undefined> {
  if (until === 0) return;
  const ending = new AbortController();
  try {
    // A slice never cuts an append, and ends with the first that gives it one event.
    for await (const { events, position } of log.subscribe({ after: 0, maxCount: 1, signal: ending.signal })) {
      const [first] = events;
      if (first !== undefined) yield { stream: first.stream, events, position };
      if (position >= until) return;
    }
  } finally {
    ending.abort();
  }
}
