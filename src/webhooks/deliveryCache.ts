/** What this process has just seen or made, so that attempts need not read or make it: events, deliveries, documents. */
import { LRUCache } from 'lru-cache';
import type { DeliveryKey, LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import { charactersOf } from '../domain/jsonSize.js';
import { DOCUMENT_CACHE_BYTES } from '../domain/limits.js';
import type { EventStore, RecordedEvent, Revision } from '../ports/eventStore.js';

type Document = readonly Uint8Array[];

type EventRef = { readonly stream: string; readonly revision: Revision };

/** About a kilobyte each. */
const MAX_DELIVERIES = 5_000;
const MAX_EVENT_CHARACTERS = 8_000_000;

/** For one log. */
export class DeliveryCache {
  readonly #requested = new LRUCache<string, LoadedDelivery>({ max: MAX_DELIVERIES });
  readonly #events: LRUCache<string, RecordedEvent, EventRef>;
  readonly #documents = new LRUCache<string, Document, () => Promise<Document>>({
    maxSize: DOCUMENT_CACHE_BYTES,
    sizeCalculation: (pieces) => pieces.reduce((bytes, { byteLength }) => bytes + byteLength, 1),
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: make }) => make(),
  });

  readonly #eventStore: Pick<EventStore, 'readStream' | 'erasures'>;
  #erasures: number | undefined;

  constructor(eventStore: Pick<EventStore, 'readStream' | 'erasures'>) {
    this.#eventStore = eventStore;
    this.#erasures = eventStore.erasures?.count;
    this.#events = new LRUCache({
      maxSize: MAX_EVENT_CHARACTERS,
      sizeCalculation: ({ data }) => charactersOf(data),
      // Callers that wait for a read get its event even if there is no room to keep it.
      ignoreFetchAbort: true,
      fetchMethod: async (_key, _stale, { context: { stream, revision } }) =>
        (await eventStore.readStream(stream, revision, revision))[0],
    });
  }

  /** Keeps an event that deliveries will be about: it goes to many webhooks at about the same time. */
  keepEvent(event: RecordedEvent): void {
    this.#events.set(eventKey(event), event);
  }

  /** Undefined if there is none. Concurrent callers share one read. @throws what the event store throws */
  event(ref: EventRef): Promise<RecordedEvent | undefined> {
    this.#forgetErased();
    return this.#events.fetch(eventKey(ref), { context: ref });
  }

  /**
   * A document of an order in pieces: made once for the webhooks of an event, and kept for later attempts.
   * @param keptMs by default, as long as there is room
   * @throws what `make` throws
   */
  async document(key: string, make: () => Promise<Document>, keptMs = 0): Promise<Document> {
    this.#forgetErased();
    // Only what is being removed while it is made is undefined.
    return (await this.#documents.fetch(key, { context: make, ttl: keptMs })) ?? make();
  }

  /** What is erased since may be in all of it. */
  #forgetErased(): void {
    const count = this.#eventStore.erasures?.count;
    if (count === this.#erasures) return;
    this.#erasures = count;
    this.#events.clear();
    this.#documents.clear();
  }

  keepRequested(requested: LoadedDelivery): void {
    this.#requested.set(deliveryKey(requested), requested);
  }

  /**
   * A delivery as it was requested, for its first attempt only: after it the stream has to be read. It may be stale, which
   * the append that starts the attempt detects.
   */
  takeRequested(key: DeliveryKey): LoadedDelivery | undefined {
    const requested = this.#requested.get(deliveryKey(key));
    this.#requested.delete(deliveryKey(key));
    return requested;
  }
}

const eventKey = ({ stream, revision }: EventRef): string => `${revision} ${stream}`;
const deliveryKey = ({ tenant, deliveryId }: DeliveryKey): string => `${tenant} ${deliveryId}`;
