/** An event store whose readers do not see what is erased (decision 0060). */
import { ERASURES_LOOKED_AT_EVERY_MS } from '../../domain/limits.js';
import { erasuresOf } from '../../ports/erasures.js';
import { type EventStore, type RecordedEvent, storeWith } from '../../ports/eventStore.js';

/**
 * Looks for new erasures now and then: a subscription would read the news of each commit for the few of a year.
 * @throws what the store throws
 */
export async function withoutErased(store: EventStore): Promise<EventStore> {
  const { erasures, readOn } = await erasuresOf(store);
  // The log may be away for a while; its readers report that.
  const look = (): void => void readOn().catch(() => undefined);
  const looking = setInterval(look, ERASURES_LOOKED_AT_EVERY_MS).unref();
  const shown = (event: RecordedEvent): RecordedEvent => erasures.redact(event);
  const areAny = (): boolean => erasures.count > 0;
  return storeWith(store, {
    erasures,
    readErasures: readOn,
    async readStream(stream, from, to) {
      const events = await store.readStream(stream, from, to);
      return areAny() ? events.map(shown) : events;
    },
    async readSlice(stream, range) {
      const slice = await store.readSlice(stream, range);
      return areAny() ? { ...slice, events: slice.events.map(shown) } : slice;
    },
    async readBackwards(...range) {
      const slice = await store.readBackwards(...range);
      return areAny() ? { ...slice, events: slice.events.map(shown) } : slice;
    },
    async *subscribe(options) {
      for await (const slice of store.subscribe(options))
        yield areAny() ? { ...slice, events: slice.events.map(shown) } : slice;
    },
    async close() {
      clearInterval(looking);
      await store.close();
    },
  });
}
