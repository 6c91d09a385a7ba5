/** An event store whose readers see only current versions of events. */
import { currentVersion, type EventTypes, isReadable, UnreadableEventError, upcast } from '../../domain/eventTypes.js';
import { type EventStore, type RecordedEvent, storeWith } from '../../ports/eventStore.js';

/**
 * Wraps a store.
 * @throws UnreadableEventError if the log holds a type or version that this release cannot read
 */
export async function withUpcasting(store: EventStore, types: EventTypes): Promise<EventStore> {
  const stored = await store.storedEventTypes();
  const unreadable = stored.filter(({ type, schemaVersion }) => !isReadable(types, type, schemaVersion));
  if (unreadable.length > 0) throw new UnreadableEventError(unreadable);

  const toCurrent = (event: RecordedEvent): RecordedEvent => {
    const { schemaVersion } = event.metadata;
    if (schemaVersion === currentVersion(types, event.type)) return event;
    return { ...event, data: upcast(types, event.type, schemaVersion, event.data) };
  };

  return storeWith(store, {
    readStream: async (stream, from, to) => (await store.readStream(stream, from, to)).map(toCurrent),
    async *subscribe(options) {
      for await (const slice of store.subscribe(options)) yield { ...slice, events: slice.events.map(toCurrent) };
    },
  });
}
