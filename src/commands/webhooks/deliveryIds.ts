/** Ids of deliveries and messages are derived from their events, so that a repetition finds the id taken. */
import { v5 } from 'uuid';
import type { WebhookEventKind } from '../../domain/webhook/catalogue.js';
import type { RecordedEvent } from '../../ports/eventStore.js';

/** Id of the delivery that an event itself causes. */
export const firstDeliveryId = (webhookId: string, event: Pick<RecordedEvent, 'id'>, kind: WebhookEventKind): string =>
  // Approvals were once the only kind, so their ids do not contain it.
  v5(kind === 'order.approved' ? event.id : `${kind} ${event.id}`, webhookId);

/** Id of the first resend of a delivery. */
export const resendId = (webhookId: string, deliveryId: string): string => v5(`resend ${deliveryId}`, webhookId);
