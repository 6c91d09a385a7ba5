/** A copy of a log in which erased values are gone, and the event that seals what it has in their place. */
import { ErasedEvents, withoutErasedBytes } from '../audit/erasedEvents.js';
import { newId, now } from '../commands/clock.js';
import { toAppend } from '../commands/writeStream.js';
import { ERASURES_STREAM } from '../domain/streams.js';
import { erasuresOf } from '../ports/erasures.js';
import { type EventStore, type RecordedEvent, storeWith } from '../ports/eventStore.js';
import { operator } from './operator.js';

/**
 * The log, read without what is erased in it. Types of events that have erased values have one version alone.
 * @param keepsTree whether the events say what their leaves were
 */
export async function withErasedRemoved(log: EventStore, keepsTree: boolean): Promise<EventStore> {
  const { erasures } = await erasuresOf(log);
  const removed = (event: RecordedEvent): RecordedEvent => {
    if (keepsTree) return withoutErasedBytes(erasures, event);
    const redacted = erasures.redact(event);
    const { erasedLeaf: _, ...metadata } = redacted.metadata;
    return { ...redacted, metadata };
  };
  return storeWith(log, {
    async *subscribe(options) {
      for await (const slice of log.subscribe(options)) yield { ...slice, events: slice.events.map(removed) };
    },
  });
}

/** @returns how many events of the log have lost values */
export async function sealErased(
  log: EventStore,
  onProgress: (position: number, head: number) => void,
): Promise<number> {
  const { erasures } = await erasuresOf(log);
  const erased = new ErasedEvents(erasures);
  const head = await log.head();
  const ending = new AbortController();
  let index = 0;
  if (head > 0)
    for await (const { events, position } of log.subscribe({ after: 0, signal: ending.signal })) {
      for (const event of events) erased.add(event, index++);
      onProgress(Math.min(position, head), head);
      if (position >= head) break;
    }
  ending.abort();
  const data = erased.seal();
  if (data !== undefined) {
    const [event] = toAppend({ newId }, operator(''), now(), [{ type: 'ErasedBytesRemoved', data }]);
    if (event !== undefined) await log.append(ERASURES_STREAM, [event], 'any');
  }
  return erased.found().events;
}
