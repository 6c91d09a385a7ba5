/** The stream of one delivery: loaded, and written to. */
import type { Caller } from '../commands/context.js';
import { appendIfUnchanged, type LogAccess, type StreamEnd } from '../commands/writeStream.js';
import { deliveryStream } from '../domain/streams.js';
import { type Delivery, evolve } from '../domain/webhook/delivery.js';
import type { DeliveryEvent } from '../domain/webhook/events.js';
import type { EventToAppend, Position } from '../ports/eventStore.js';

export type DeliveryKey = { readonly tenant: string; readonly deliveryId: string };

export type LoadedDelivery = DeliveryKey &
  StreamEnd & {
    readonly delivery: Delivery;
    /** Where the request stands in the log: whoever made it knew the webhook by then. */
    readonly requestedAt: Position;
    /** Where the last event stands in the log. */
    readonly position: Position;
    /** On whose behalf what follows is recorded. */
    readonly caller: Caller;
  };

const SUBSCRIBER = { kind: 'system', id: 'webhook-subscriber' } as const;

const evolveDelivery = (delivery: Delivery | undefined, { type, data, metadata }: EventToAppend): Delivery =>
  evolve(delivery, { type, data } as DeliveryEvent, metadata.occurredAt);

/** A delivery as its events tell it; undefined when it was never requested. */
export async function loadDelivery(access: LogAccess, key: DeliveryKey): Promise<LoadedDelivery | undefined> {
  const events = await access.eventStore.readStream(deliveryStream(key.tenant, key.deliveryId));
  const delivery = events.reduce<Delivery | undefined>(evolveDelivery, undefined);
  const [requested] = events;
  const last = events.at(-1);
  if (delivery === undefined || requested === undefined || last === undefined) return undefined;
  const { correlationId } = requested.metadata;
  return {
    ...key,
    delivery,
    revision: last.revision,
    lastEventAt: last.metadata.occurredAt,
    requestedAt: requested.position,
    position: last.position,
    caller: { tenant: key.tenant, actor: SUBSCRIBER, correlationId, causationId: requested.id },
  };
}

/** Records what was decided on the delivery as loaded. Returns it as it is then; undefined when another was first. */
export async function recordDelivery(
  access: LogAccess,
  loaded: LoadedDelivery,
  events: readonly DeliveryEvent[],
): Promise<LoadedDelivery | undefined> {
  if (events.length === 0) return loaded;
  const stream = deliveryStream(loaded.tenant, loaded.deliveryId);
  const appended = await appendIfUnchanged(access, loaded.caller, stream, loaded, events);
  if (appended === undefined) return undefined;
  const delivery = appended.events.reduce<Delivery>(evolveDelivery, loaded.delivery);
  const { revision, position, at: lastEventAt } = appended;
  return { ...loaded, delivery, revision, position, lastEventAt };
}
