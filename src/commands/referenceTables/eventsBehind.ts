/** Searches a table's stream for what an unanswered request has done. */
import { MAX_EVENTS_LOOKED_THROUGH } from '../../domain/limits.js';
import type { EventStore, RecordedEvent, Revision } from '../../ports/eventStore.js';
import { type Caller, ConflictError } from '../context.js';
import { withDeadline } from '../writeStream.js';

/** Events of one read: each may have 400 KB. */
const SLICE_EVENTS = 50;

/**
 * The events after a revision, in slices, to the end of the stream.
 * @throws ConflictError with `tooMany` when there are more than MAX_EVENTS_LOOKED_THROUGH
 */
export async function* eventsBehind(
  { eventStore }: { readonly eventStore: Pick<EventStore, 'readStream'> },
  caller: Caller,
  stream: string,
  after: Revision,
  tooMany: string,
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let from = after + 1; from <= after + MAX_EVENTS_LOOKED_THROUGH; from += SLICE_EVENTS) {
    const events = await withDeadline(caller, eventStore.readStream(stream, from, from + SLICE_EVENTS - 1));
    yield events;
    if (events.length < SLICE_EVENTS) return;
  }
  throw new ConflictError(tooMany);
}
