/** Finds in the log what a request has done whose answer was never given: its events say so. */
import type { EventStore, RecordedEvent, Revision } from '../ports/eventStore.js';
import type { Caller } from './context.js';
import { withDeadline } from './writeStream.js';

/** Events of one read: each may have 400 KB. */
const SLICE_EVENTS = 50;

/** Where the events of a request are searched. */
export type Search = {
  readonly stream: string;
  /** They stand after this revision; -1 for a whole stream. */
  readonly after: Revision;
  /** By the request that caused them, or by the session that they end. */
  readonly isOwn: (event: RecordedEvent) => boolean;
  /** Thrown when this many events were searched and the stream goes on. */
  readonly limit?: { readonly events: number; readonly error: () => Error };
};

export const causedBy =
  (requestId: string): Search['isOwn'] =>
  ({ metadata }) =>
    metadata.causationId === requestId;

/** All events that the request has appended, in slices. */
export async function* ownEvents(
  { eventStore }: { readonly eventStore: Pick<EventStore, 'readStream'> },
  caller: Caller,
  { stream, after, isOwn, limit }: Search,
): AsyncGenerator<{ readonly own: readonly RecordedEvent[]; readonly isEndOfAppend: boolean }> {
  const end = limit === undefined ? Number.POSITIVE_INFINITY : after + limit.events;
  for (let from = after + 1; from <= end; from += SLICE_EVENTS) {
    const events = await withDeadline(caller, eventStore.readStream(stream, from, from + SLICE_EVENTS - 1));
    const own = events.filter(isOwn);
    yield { own, isEndOfAppend: events.at(-1) !== own.at(-1) };
    if (events.length < SLICE_EVENTS) return;
  }
  if (limit !== undefined) throw limit.error();
}

/** The events that the request has appended in one call; empty when it has not. @throws the error of the limit */
export async function ownAppend(...args: Parameters<typeof ownEvents>): Promise<readonly RecordedEvent[]> {
  const found: RecordedEvent[] = [];
  for await (const { own, isEndOfAppend } of ownEvents(...args)) {
    found.push(...own);
    if (found.length > 0 && isEndOfAppend) break;
  }
  return found;
}
