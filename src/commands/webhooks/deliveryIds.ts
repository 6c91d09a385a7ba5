/** Ids of deliveries and messages follow from what they tell of: whoever makes one again finds it taken. */
import { v5 } from 'uuid';
import type { OrderApproved } from '../../domain/order/events.js';
import type { WebhookEventKind } from '../../domain/webhook/events.js';
import type { RecordedEvent } from '../../ports/eventStore.js';

/** Id of the delivery that an event itself leads to. */
export const firstDeliveryId = (webhookId: string, event: Pick<RecordedEvent, 'id'>, kind: WebhookEventKind): string =>
  // Approvals were once the only kind.
  v5(kind === 'order.approved' ? event.id : `${kind} ${event.id}`, webhookId);

/** Id of the first delivery that sends another one again. */
export const resendId = (webhookId: string, deliveryId: string): string => v5(`resend ${deliveryId}`, webhookId);

/** Stands between the id of a message and that of the export that it may repeat. Without a full stop, which separates what is signed. */
const REPEATS = '_repeats_';

/** `webhook-id` of all deliveries of an event to a webhook: that of the first, and the earlier export that it may repeat. */
export function messageIdOf(webhookId: string, event: RecordedEvent, kind: WebhookEventKind): string {
  const first = firstDeliveryId(webhookId, event, kind);
  if (kind !== 'order.approved') return first;
  const { repeats } = (event.data ?? {}) as Partial<OrderApproved['data']>;
  const repeat = Array.isArray(repeats) ? repeats.find((each) => each?.webhookId === webhookId) : undefined;
  return repeat === undefined ? first : `${first}${REPEATS}${repeat.deliveryId}`;
}
