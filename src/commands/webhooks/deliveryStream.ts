/** The stream of one delivery: its id, and how it is requested, loaded and written. */
import { v5 } from 'uuid';
import { deliveryStream } from '../../domain/streams.js';
import type { WebhookEventKind } from '../../domain/webhook/catalogue.js';
import { type Delivery, evolve } from '../../domain/webhook/delivery.js';
import type { DeliveryEvent, DeliverySubject } from '../../domain/webhook/events.js';
import type { AppendResult, EventToAppend, Position, RecordedEvent } from '../../ports/eventStore.js';
import type { Caller } from '../context.js';
import type { StreamReads } from '../logReads.js';
import { beginStream, type LogAccess, loadStream, type StreamEnd, writeStream } from '../writeStream.js';

type DeliveryKey = { readonly tenant: string; readonly deliveryId: string };

export type LoadedDelivery = DeliveryKey &
  StreamEnd & {
    readonly delivery: Delivery;
    /** Position of the request. The webhook existed by then. */
    readonly requestedAt: Position;
    /** Position of the last event. */
    readonly position: Position;
    /** On whose behalf events are appended. */
    readonly caller: Caller;
  };

// Ids are derived from their events, so that a repetition finds the id taken.

/** Id of the delivery that an event itself causes, and the `webhook-id` of all deliveries of the event to the webhook. */
export const firstDeliveryId = (webhookId: string, event: Pick<RecordedEvent, 'id'>, kind: WebhookEventKind): string =>
  // Approvals were once the only kind, so their ids do not contain it.
  v5(kind === 'order.approved' ? event.id : `${kind} ${event.id}`, webhookId);

const SUBSCRIBER = { kind: 'system', id: 'webhook-subscriber' } as const;

/**
 * Requests a delivery.
 * @param log `newId` gives the id of the event: with the same id again, the append succeeds and stores nothing
 * @returns where the request is; undefined when another event requested a delivery of this id
 */
export function requestDelivery(
  log: LogAccess,
  caller: Caller,
  deliveryId: string,
  subject: DeliverySubject,
): Promise<AppendResult | undefined> {
  const event = { type: 'DeliveryRequested', data: subject } as const;
  return beginStream(log, caller, deliveryStream(caller.tenant, deliveryId), [event]);
}

const evolveDelivery = (delivery: Delivery | undefined, { type, data, metadata }: EventToAppend): Delivery =>
  evolve(delivery, { type, data } as DeliveryEvent, metadata.occurredAt);

/** The delivery, from its stream; undefined when it was never requested. */
export async function loadDelivery(
  eventStore: StreamReads,
  { tenant, deliveryId }: DeliveryKey,
): Promise<LoadedDelivery | undefined> {
  type Known = Omit<LoadedDelivery, keyof DeliveryKey | keyof StreamEnd>;
  const evolveKnown = (before: Known | undefined, event: RecordedEvent): Known | undefined => {
    const { id, position, metadata } = event;
    const { correlationId, traceparent } = metadata;
    const caller = { tenant, actor: SUBSCRIBER, correlationId, causationId: id, traceparent };
    return { requestedAt: position, caller, ...before, delivery: evolveDelivery(before?.delivery, event), position };
  };
  const { state, ...end } = await loadStream(eventStore, deliveryStream(tenant, deliveryId), evolveKnown, undefined);
  return state && { tenant, deliveryId, ...end, ...state };
}

/**
 * Decides on the loaded delivery, and appends; when another process was first, loads it again.
 * @returns the delivery after that, and whether anything was appended
 * @throws TryLaterError
 */
export async function writeDelivery(
  log: LogAccess,
  loaded: LoadedDelivery,
  decide: (delivery: Delivery) => readonly DeliveryEvent[],
): Promise<{ readonly written: LoadedDelivery; readonly appended: boolean }> {
  const { state, events, revision, position, at } = await writeStream(log, loaded.caller, {
    stream: deliveryStream(loaded.tenant, loaded.deliveryId),
    load: async (attempt) => {
      const current = attempt === 0 ? loaded : await loadDelivery(log.eventStore, loaded);
      if (current === undefined) throw new Error(`There is no delivery ${loaded.deliveryId} any more.`);
      return { ...current, state: current };
    },
    decide: ({ delivery }) => decide(delivery),
  });
  if (events.length === 0) return { written: state, appended: false };
  const delivery = events.reduce<Delivery>(evolveDelivery, state.delivery);
  return { written: { ...state, delivery, revision, position, lastEventAt: at }, appended: true };
}
