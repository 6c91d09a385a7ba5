/** Figures about deliveries in /metrics, by tenant and webhook, and what the alerting rules ask of them. */

import { addWebhook, approvedOrder, deliveriesEnded, reaches } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

/** Values of a metric for the webhook, by the metric's other labels. */
async function values(name: string, webhook: string): Promise<Record<string, number>> {
  const lines = (await service().metrics())
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && line.includes(webhook));
  return Object.fromEntries(
    lines.map((line) => [/(?:outcome|cause|le)="([^"]*)"/.exec(line)?.[1] ?? '', Number(line.split(' ').at(-1))]),
  );
}

it('attempts are counted by outcome, and what failed for good; a removed webhook has none', async () => {
  const replies = [{ status: 500 }, undefined, { status: 200 }];
  receiver.reply('/counted', (nth) => (nth <= replies.length ? replies[nth - 1] : { status: 410 }));
  const { id } = await addWebhook(acme(), receiver.url('/counted'));
  const none = { delivered: 0, failed: 0, timeout: 0, gone: 0, refused_address: 0 };
  expect(await values('webhook_attempts_total', id)).toEqual(none);
  await approvedOrder(acme());
  await deliveriesEnded(acme(), id, 1);
  await reaches(acme(), await approvedOrder(acme()), 'failed');
  await deliveriesEnded(acme(), id, 2);
  expect(await values('webhook_attempts_total', id)).toEqual({ ...none, delivered: 1, failed: 1, timeout: 1, gone: 5 });
  expect(await values('webhook_deliveries_failed_total', id)).toEqual({ '': 1 });
  expect(await values('webhook_disabled', id)).toEqual({ gone: 1 });
  await acme().platform('DELETE', `/webhooks/${id}`);
  expect(await service().metrics()).not.toContain(id);
});

it('how long deliveries have been waiting is told by webhook', async () => {
  const { id } = await addWebhook(acme(), receiver.url('/waiting'));
  receiver.reply('/waiting', () => ({ status: 500, headers: { 'retry-after': '600' } }));
  for (let n = 0; n < 2; n++) await approvedOrder(acme());
  await receiver.received('/waiting', 2);
  await acme().platformData('PUT', `/webhooks/${id}`, { enabled: false });
  const { '': seconds = -1 } = await values('webhook_oldest_open_seconds', id);
  expect(seconds).toBeGreaterThanOrEqual(0);
  expect(seconds).toBeLessThan(60);
  expect(await values('webhook_disabled', id)).toEqual({ admin: 1 });
});
