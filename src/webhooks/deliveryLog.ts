/** The stream of one delivery: loaded, and written to. */
import { type Caller, type Commands, lastRevision, lastTime, notBefore, toAppend } from '../commands/context.js';
import { deliveryStream } from '../domain/streams.js';
import { type Delivery, evolve } from '../domain/webhook/delivery.js';
import type { DeliveryEvent } from '../domain/webhook/events.js';
import { type Position, type RecordedEvent, WrongExpectedRevisionError } from '../ports/eventStore.js';

export type DeliveryKey = { readonly tenant: string; readonly deliveryId: string };

export type LoadedDelivery = DeliveryKey & {
  readonly delivery: Delivery;
  readonly revision: number;
  readonly lastAt: string;
  /** Where the request stands in the log: whoever made it knew the webhook by then. */
  readonly requestedAt: Position;
  /** Where the last event stands in the log. */
  readonly position: Position;
  /** On whose behalf what follows is recorded. */
  readonly caller: Caller;
};

export type LogAccess = Pick<Commands, 'eventStore' | 'now' | 'newId'>;

const SUBSCRIBER = { kind: 'system', id: 'webhook-subscriber' } as const;

const fold = (delivery: Delivery | undefined, recorded: RecordedEvent): Delivery =>
  evolve(delivery, { type: recorded.type, data: recorded.data } as DeliveryEvent, recorded.metadata.occurredAt);

/** A delivery as its events tell it; undefined when it was never requested. */
export async function loadDelivery(access: LogAccess, key: DeliveryKey): Promise<LoadedDelivery | undefined> {
  const events = await access.eventStore.readStream(deliveryStream(key.tenant, key.deliveryId));
  const delivery = events.reduce<Delivery | undefined>(fold, undefined);
  const [requested] = events;
  const last = events.at(-1);
  if (delivery === undefined || requested === undefined || last === undefined) return undefined;
  const { correlationId } = requested.metadata;
  return {
    ...key,
    delivery,
    revision: lastRevision(events),
    lastAt: lastTime(events),
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
  const { tenant, deliveryId, caller, revision } = loaded;
  const at = notBefore(access.now(), loaded.lastAt);
  try {
    const stream = deliveryStream(tenant, deliveryId);
    const appended = await access.eventStore.append(stream, toAppend(access, caller, at, events), revision);
    const delivery = events.reduce<Delivery>((state, event) => evolve(state, event, at), loaded.delivery);
    return { ...loaded, delivery, revision: appended.revision, position: appended.position, lastAt: at };
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}
