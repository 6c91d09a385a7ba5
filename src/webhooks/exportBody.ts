/** The body of an order's export (spec §6.1). */
import type { Commands } from '../commands/context.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import type { OrderApproved } from '../domain/order/events.js';
import { exportDocument } from '../domain/order/exportDocument.js';
import { orderStream } from '../domain/streams.js';
import type { DeliverySubject } from '../domain/webhook/events.js';

/**
 * `{ "validated_order": …, "custom_data": … }` as UTF-8. Made from what was approved, not from what the order has
 * become since, so it is the same bytes at each attempt.
 * @throws Error when the log does not hold the approval
 */
export async function exportBody(
  eventStore: Commands['eventStore'],
  tenant: Tenant,
  webhook: Webhook,
  subject: DeliverySubject,
): Promise<Uint8Array> {
  const stream = orderStream(tenant.name, subject.orderId);
  const [approval] = await eventStore.readStream(stream, subject.sourceRevision);
  if (approval?.id !== subject.sourceEventId || approval.type !== 'OrderApproved') {
    throw new Error(`${stream} has no approval ${subject.sourceEventId} at revision ${subject.sourceRevision}.`);
  }
  const { snapshot, approvedAt, approver } = approval.data as OrderApproved['data'];
  const document = exportDocument(snapshot, { approvedAt, approver }, tenant.assetTypes);
  return Buffer.from(JSON.stringify({ validated_order: document, custom_data: webhook.customData }), 'utf8');
}
