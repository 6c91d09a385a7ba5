/** Webhooks of one tenant that hang, as many as there may be, and the first delivery to a webhook of another tenant. */
import { addWebhook, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import type { TenantClient } from '../acceptance/tenant.js';
import { useService } from '../acceptance/useService.js';
import { scaled } from '../engines/timeScale.js';

const HANGING = 60;
const BURST = 20;
const LATER_MS = scaled(3_000);

const receiver = Receiver.ofTests();
const run = useService(async () => ({
  tenants: { slow: 'dyn_stock_order', quick: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: quickDelivery(receiver),
}));

async function approve(tenant: TenantClient): Promise<void> {
  const { order } = await validatedOrder(tenant);
  await tenant.platformData('POST', `/orders/${order.id}/approve`);
}

/** Milliseconds from an approval to its arrival. */
async function firstDelivery(name: string): Promise<number> {
  const tenant = run.tenant(name);
  const path = `/${name}`;
  const { order } = await validatedOrder(tenant);
  await addWebhook(tenant, receiver.url(path));
  const before = performance.now();
  await Promise.all([tenant.platformData('POST', `/orders/${order.id}/approve`), receiver.received(path, 1)]);
  return performance.now() - before;
}

it('another tenant is called as soon as if there were none of them', async () => {
  const slow = run.tenant('slow');
  const idleMs = await firstDelivery('other');
  const paths = Array.from({ length: HANGING }, (_, n) => `/hanging/${n}`);
  for (const path of paths) {
    receiver.reply(path, () => undefined);
    await addWebhook(slow, receiver.url(path));
  }
  await approve(slow);
  await receiver.received('/hanging/0', 1);
  for (let n = 0; n < BURST; n++) await approve(slow);
  const ms = await firstDelivery('quick');
  expect(ms - idleMs).toBeLessThan(LATER_MS);
});
