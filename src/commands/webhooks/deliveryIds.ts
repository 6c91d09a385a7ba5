/** Ids of deliveries and messages are derived from their events, so that a repetition finds the id taken. */
import { v5 } from 'uuid';
import type { OrderApproved } from '../../domain/order/events.js';
import type { WebhookEventKind } from '../../domain/webhook/catalogue.js';
import type { RecordedEvent } from '../../ports/eventStore.js';

/** Id of the delivery that an event itself causes. */
export const firstDeliveryId = (webhookId: string, event: Pick<RecordedEvent, 'id'>, kind: WebhookEventKind): string =>
  // Approvals were once the only kind, so their ids do not contain it.
  v5(kind === 'order.approved' ? event.id : `${kind} ${event.id}`, webhookId);

/** Id of the first resend of a delivery. */
export const resendId = (webhookId: string, deliveryId: string): string => v5(`resend ${deliveryId}`, webhookId);

/** Separates the id of a message from that of the export that it may repeat. Not a full stop: that separates signed parts. */
const REPEATS = '_repeats_';

/** `webhook-id` of all deliveries of an event to a webhook: the id of the first, and the earlier export that it may repeat. */
export function messageIdOf(webhookId: string, event: RecordedEvent, kind: WebhookEventKind): string {
  const first = firstDeliveryId(webhookId, event, kind);
  if (kind !== 'order.approved') return first;
  const { repeats } = (event.data ?? {}) as Partial<OrderApproved['data']>;
  const repeat = Array.isArray(repeats) ? repeats.find((each) => each?.webhookId === webhookId) : undefined;
  return repeat === undefined ? first : `${first}${REPEATS}${repeat.deliveryId}`;
}
