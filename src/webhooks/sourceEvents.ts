/**
 * The events that deliveries are about. An event goes to many webhooks at about the same time, and is read once for
 * all.
 */
import { LRUCache } from 'lru-cache';
import { charactersOf } from '../domain/jsonSize.js';
import type { EventStore, RecordedEvent, Revision } from '../ports/eventStore.js';

type EventReads = Pick<EventStore, 'readStream'>;
type EventPlace = { readonly stream: string; readonly revision: Revision };

/** Characters of data that are kept, for one log. */
const MAX_KEPT_CHARACTERS = 8_000_000;

const keptEvents = new WeakMap<EventReads, LRUCache<string, RecordedEvent, EventPlace>>();

/** Undefined if there is none. Concurrent callers share one read. @throws what the event store throws */
export async function readSourceEvent(eventStore: EventReads, place: EventPlace): Promise<RecordedEvent | undefined> {
  const kept = keptEvents.get(eventStore) ?? keep(eventStore);
  return kept.fetch(eventKey(place), { context: place });
}

/** Keeps an event that deliveries will be about, so that they need not read it. */
export function keepSourceEvent(eventStore: EventReads, event: RecordedEvent): void {
  (keptEvents.get(eventStore) ?? keep(eventStore)).set(eventKey(event), event);
}

const eventKey = ({ stream, revision }: EventPlace): string => `${revision} ${stream}`;

function keep(eventStore: EventReads): LRUCache<string, RecordedEvent, EventPlace> {
  const kept = new LRUCache<string, RecordedEvent, EventPlace>({
    maxSize: MAX_KEPT_CHARACTERS,
    sizeCalculation: ({ data }) => charactersOf(data),
    // Callers that wait for a read get its event even if there is no room to keep it.
    ignoreFetchAbort: true,
    fetchMethod: async (_key, _stale, { context: { stream, revision } }) =>
      (await eventStore.readStream(stream, revision, revision))[0],
  });
  keptEvents.set(eventStore, kept);
  return kept;
}
