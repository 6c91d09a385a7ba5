import { deliveryStream } from '../../domain/streams.js';
import type { DeliverySubject } from '../../domain/webhook/events.js';
import { type Position, WrongExpectedRevisionError } from '../../ports/eventStore.js';
import { type Caller, type Commands, toAppend } from '../context.js';

export type RequestedDelivery = { readonly position: Position; readonly deliveryId: string };

/**
 * Records that a delivery is to be made.
 * @param commands its ids are those of the event: whoever gives the same again finds the request recorded
 * @returns undefined when another event has requested a delivery of this id
 */
export async function requestDelivery(
  commands: Pick<Commands, 'eventStore' | 'now' | 'newId'>,
  caller: Caller,
  deliveryId: string,
  subject: DeliverySubject,
): Promise<RequestedDelivery | undefined> {
  const events = toAppend(commands, caller, commands.now(), [{ type: 'DeliveryRequested', data: subject }]);
  try {
    const stream = deliveryStream(caller.tenant, deliveryId);
    const { position } = await commands.eventStore.append(stream, events, 'no-stream');
    return { position, deliveryId };
  } catch (error) {
    if (error instanceof WrongExpectedRevisionError) return undefined;
    throw error;
  }
}
