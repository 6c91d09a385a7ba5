/**
 * Deliveries that this process has just requested, so that their first attempt need not read their streams. A kept one
 * may be stale: the append that starts the attempt detects this, and the stream is read.
 */
import { LRUCache } from 'lru-cache';
import type { DeliveryKey, LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { EventStore } from '../ports/eventStore.js';

/** About a kilobyte each, for one log. */
const MAX_KEPT = 5_000;

const keptDeliveries = new WeakMap<Pick<EventStore, 'readStream'>, LRUCache<string, LoadedDelivery>>();

export function keepRequested(eventStore: Pick<EventStore, 'readStream'>, requested: LoadedDelivery): void {
  const kept = keptDeliveries.get(eventStore) ?? new LRUCache<string, LoadedDelivery>({ max: MAX_KEPT });
  keptDeliveries.set(eventStore, kept);
  kept.set(deliveryKey(requested), requested);
}

/** Returns each only once: after an attempt the stream has to be read. */
export function takeRequested(
  eventStore: Pick<EventStore, 'readStream'>,
  key: DeliveryKey,
): LoadedDelivery | undefined {
  const kept = keptDeliveries.get(eventStore);
  const requested = kept?.get(deliveryKey(key));
  kept?.delete(deliveryKey(key));
  return requested;
}

const deliveryKey = ({ tenant, deliveryId }: DeliveryKey): string => `${tenant} ${deliveryId}`;
