import { deliveryStream } from '../../domain/streams.js';
import type { DeliverySubject } from '../../domain/webhook/events.js';
import type { Position } from '../../ports/eventStore.js';
import type { Caller } from '../context.js';
import { appendIfUnchanged, type LogAccess, NO_STREAM } from '../writeStream.js';

export type RequestedDelivery = { readonly position: Position; readonly deliveryId: string };

/**
 * Records that a delivery is to be made.
 * @param commands its ids are those of the event: whoever gives the same again finds the request recorded
 * @returns undefined when another event has requested a delivery of this id
 */
export async function requestDelivery(
  commands: LogAccess,
  caller: Caller,
  deliveryId: string,
  subject: DeliverySubject,
): Promise<RequestedDelivery | undefined> {
  const stream = deliveryStream(caller.tenant, deliveryId);
  const event = { type: 'DeliveryRequested', data: subject } as const;
  const appended = await appendIfUnchanged(commands, caller, stream, NO_STREAM, [event]);
  return appended && { position: appended.position, deliveryId };
}
