/** What a delivery's end, or its wait, means to its order. All of it may safely be repeated after a crash. */
import type { Application } from '../commands/application.js';
import { deliverExport, failExport, holdExport } from '../commands/orders/orderWriter.js';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Webhook } from '../domain/identity/directory.js';
import { disabledWarning } from '../domain/order/approval.js';

/** Fails the order, but only for an export that was due: not for other event kinds, and not for replays. */
export async function tellOfFailure(
  commands: Application,
  { delivery, deliveryId, caller }: LoadedDelivery,
  reasons: readonly string[],
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = delivery.subject;
  if (kind !== 'order.approved' || purpose !== undefined) return;
  await failExport(commands, caller, orderId, { approvalEventId, reasons, webhookId, deliveryId });
}

/** Notes at the order that its due export waits for this webhook, which is disabled. */
export async function tellOfWaiting(
  commands: Application,
  { delivery, deliveryId, caller }: LoadedDelivery,
  webhook: Webhook,
): Promise<void> {
  const { kind, purpose, orderId, sourceEventId: approvalEventId } = delivery.subject;
  const warning = disabledWarning(webhook);
  if (kind !== 'order.approved' || purpose !== undefined || warning === undefined) return;
  await holdExport(commands, caller, orderId, { approvalEventId, deliveryId, warning });
}

/** Notes that an export that had failed for good was delivered by a replay. */
export async function tellOfSuccess(
  commands: Application,
  { delivery, deliveryId, caller }: LoadedDelivery,
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = delivery.subject;
  const isReplay = purpose === 'resend' || purpose === 'backfill';
  if (kind !== 'order.approved' || !isReplay || delivery.outcome !== 'succeeded') return;
  await deliverExport(commands, caller, orderId, { approvalEventId, webhookId, deliveryId });
}
