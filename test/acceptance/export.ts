/** The way of an order to the integrator: webhooks of a tenant, and orders that are ready for approval. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Receiver } from './receiver.js';
import { party } from './samples.js';
import type { AssetRecord, Fields, TenantClient } from './tenant.js';

/** Settings with which a service delivers to this receiver, and sends what fails again at once. */
export const quickDelivery = (receiver: Receiver) => ({
  WEBHOOK_CA_FILE: receiver.caFile,
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  WEBHOOK_BACKOFF_MS: '50',
});

const webhook = z.looseObject({ id: z.string(), secret: z.string(), url: z.string() });
export type Webhook = z.output<typeof webhook>;

export const parsed = (body: Buffer | undefined): unknown => JSON.parse(String(body));

export async function addWebhook(tenant: TenantClient, url: string, more: Fields = {}): Promise<Webhook> {
  return webhook.parse(await tenant.platformData('POST', '/webhooks', { url, ...more }));
}

/** A webhook to this path of the receiver, with these settings, while `work` runs, so that tests do not hear of each other. */
export async function withWebhook<T>(
  tenant: TenantClient,
  receiver: Receiver,
  to: string | (Fields & { readonly path: string }),
  work: (webhook: Webhook) => Promise<T>,
): Promise<T> {
  const { path, ...more } = typeof to === 'string' ? { path: to } : to;
  const made = await addWebhook(tenant, receiver.url(path), more);
  try {
    return await work(made);
  } finally {
    await tenant.platform('DELETE', `/webhooks/${made.id}`);
  }
}

type StockOrder = {
  readonly order: AssetRecord;
  readonly line: AssetRecord;
  readonly item: AssetRecord;
  readonly unitCode: AssetRecord;
  readonly buyer: AssetRecord;
};

let made = 0;

/** A validated order with one line, its item and unit code, and both of its parties. */
export async function validatedOrder(tenant: TenantClient): Promise<StockOrder> {
  made += 1;
  const key = `K${made}`;
  const buyer = await tenant.create('dyn_party', party(key));
  const unitCode = await tenant.create('dyn_unit_code', { code: key, value: 'Piece' });
  const item = await tenant.create('dyn_item', {
    external_id: key,
    name: 'Tea, 100 bags ☕',
    description: 'Black tea',
    brand_name: 'Theehuis',
    sku: `SKU-${key}`,
    ean: '8712345678906',
    base_unit_code_id: unitCode.id,
    category_id: 'CAT1',
    category_name: 'Hot drinks',
    product_id: 'PR1',
  });
  const created = await tenant.create('dyn_stock_order', {
    issue_date: '2026-11-21',
    delivery_date: '2026-12-01',
    customer_reference: `PO-${key}`,
    accuracy: 0.975,
    order_inquiry_id: '01a1feb1-0000-7000-8000-0000000000aa',
    buyer_customer_party_id: key,
    accounting_customer_party_id: key,
  });
  const line = await tenant.create('dyn_order_line', {
    order_id: created.id,
    item_id: item.id,
    unit_code_id: unitCode.id,
    quantity: 2.5,
  });
  const order = await tenant.update('dyn_stock_order', created.id, { processing_status: 'validated' });
  return { order, line, item, unitCode, buyer };
}

export async function approve(tenant: TenantClient, orderId: string): Promise<void> {
  await tenant.platformData('POST', `/orders/${orderId}/approve`, { override: true, reason: 'It follows.' });
}

/** Approves a new order. @returns its id */
export async function approvedOrder(tenant: TenantClient): Promise<string> {
  const { order } = await validatedOrder(tenant);
  await approve(tenant, order.id);
  return order.id;
}

const POLL_MS = 20;

/** Resolves to the order when it has this status; the test's time limit ends the wait. */
export async function reaches(tenant: TenantClient, orderId: string, status: string): Promise<AssetRecord> {
  for (;;) {
    const order = await tenant.get(tenant.orderModel, orderId);
    if (order.processing_status === status) return order;
    await wait(POLL_MS);
  }
}

const deliveryLog = z.array(
  z.looseObject({
    id: z.string(),
    state: z.enum(['open', 'succeeded', 'failed']),
    attempts: z.array(z.looseObject({ body_sha256: z.string().nullable() })),
  }),
);
export type Delivery = z.output<typeof deliveryLog>[number];

/** Resolves to the delivery log of a webhook, the newest first, when this many deliveries in it have ended. */
export async function deliveriesEnded(
  tenant: TenantClient,
  webhookId: string,
  count: number,
): Promise<readonly Delivery[]> {
  for (;;) {
    const log = deliveryLog.parse(await tenant.platformData('GET', `/webhooks/${webhookId}/deliveries`));
    if (log.filter(({ state }) => state !== 'open').length >= count) return log;
    await wait(POLL_MS);
  }
}
