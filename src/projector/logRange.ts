/** A part of the log with an end, unlike a subscription. */
import type { EventStore, Position, RecordedEvent } from '../ports/eventStore.js';

type LogRange = { readonly after: Position; readonly to: Position; readonly streamPrefixes: readonly string[] };

/** Slices of the range; the last one's position is `to`, unless the signal aborted. @throws what the log throws */
export async function* slicesUpTo(
  eventStore: Pick<EventStore, 'subscribe'>,
  { after, to, streamPrefixes }: LogRange,
  signal: AbortSignal,
): AsyncGenerator<{ readonly events: readonly RecordedEvent[]; readonly position: Position }> {
  if (after >= to) return;
  const reading = new AbortController();
  const reader = AbortSignal.any([signal, reading.signal]);
  try {
    for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal: reader })) {
      const events = slice.events.filter(({ position }) => position <= to);
      yield { events, position: Math.min(slice.position, to) };
      if (slice.position >= to) return;
    }
  } finally {
    reading.abort();
  }
}
