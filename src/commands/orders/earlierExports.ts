/** Exports that receivers may already have when an order is approved again. */

import { type Webhook, wantedSince } from '../../domain/identity/directory.js';
import type { Repeat } from '../../domain/order/events.js';
import type { Order } from '../../domain/order/order.js';
import { mayHaveArrived } from '../../domain/webhook/delivery.js';
import type { Application } from '../application.js';
import { tenantOf } from '../tables.js';
import { firstDeliveryId, resendId } from '../webhooks/deliveryIds.js';
import { loadDelivery } from '../webhooks/deliveryStream.js';

const KIND = 'order.approved';

/**
 * For each webhook, the latest earlier export that it may have. A first approval reads nothing; later ones read up to two
 * streams for each webhook.
 */
export async function earlierExports(
  commands: Application,
  tenantName: string,
  { lastApproval }: Order,
): Promise<readonly Repeat[]> {
  if (lastApproval === undefined) return [];
  const { webhooks } = tenantOf(commands, tenantName);
  const wanting = [...webhooks.values()].filter(({ events }) => events.includes(KIND));
  const repeats = await Promise.all(
    wanting.map(async (webhook) =>
      (await mayHave(commands, tenantName, webhook, lastApproval))
        ? { webhookId: webhook.id, deliveryId: firstDeliveryId(webhook.id, lastApproval, KIND) }
        : lastApproval.repeats.find(({ webhookId }) => webhookId === webhook.id),
    ),
  );
  return repeats.filter((repeat) => repeat !== undefined);
}

async function mayHave(
  { eventStore }: Application,
  tenant: string,
  webhook: Webhook,
  approval: NonNullable<Order['lastApproval']>,
): Promise<boolean> {
  const deliveryId = firstDeliveryId(webhook.id, approval, KIND);
  const first = await loadDelivery(eventStore, { tenant, deliveryId });
  // The relay, or the delivery, may be behind: the export will still be sent.
  if (first === undefined) return wantedSince(webhook, KIND) <= approval.at;
  if (mayHaveArrived(first.delivery)) return true;
  const again = await loadDelivery(eventStore, { tenant, deliveryId: resendId(webhook.id, deliveryId) });
  return again !== undefined && mayHaveArrived(again.delivery);
}
