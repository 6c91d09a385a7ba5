/** What the end of a delivery means to its order, or that it waits. All may be repeated, after a crash, without harm. */
import type { Commands } from '../commands/context.js';
import { deliverExport, failExport, holdExport } from '../commands/orders/orderWriter.js';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import { disabledWarning } from '../domain/order/exportWarning.js';

/** Only an export that was due fails the order: not other kinds of event, and not replays. */
export async function tellOfFailure(
  commands: Commands,
  { delivery, deliveryId, caller }: LoadedDelivery,
  reasons: readonly string[],
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = delivery.subject;
  if (kind !== 'order.approved' || purpose !== undefined) return;
  await failExport(commands, caller, orderId, { approvalEventId, reasons, webhookId, deliveryId });
}

/** An export that was due waits for this webhook, which is disabled. */
export async function tellOfWaiting(
  commands: Commands,
  { delivery, deliveryId, caller }: LoadedDelivery,
  webhook: Webhook,
): Promise<void> {
  const { kind, purpose, orderId, sourceEventId: approvalEventId } = delivery.subject;
  const warning = disabledWarning(webhook);
  if (kind !== 'order.approved' || purpose !== undefined || warning === undefined) return;
  await holdExport(commands, caller, orderId, { approvalEventId, deliveryId, warning });
}

/** An export that had failed for good may have arrived when it was sent again. */
export async function tellOfSuccess(
  commands: Commands,
  { delivery, deliveryId, caller }: LoadedDelivery,
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = delivery.subject;
  const isReplay = purpose === 'resend' || purpose === 'backfill';
  if (kind !== 'order.approved' || !isReplay || delivery.outcome !== 'succeeded') return;
  await deliverExport(commands, caller, orderId, { approvalEventId, webhookId, deliveryId });
}
