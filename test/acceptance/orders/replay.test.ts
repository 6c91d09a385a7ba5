/** The replay of an order: all that happened to it in one answer, for auditors. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { addWebhook, approve, validatedOrder } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });

const stepSchema = z.looseObject({
  event: z.string(),
  actor: z.unknown(),
  problems: z.array(z.looseObject({ field: z.string() })),
  deliveries: z.array(z.looseObject({ id: z.string(), state: z.string() })),
  changes: z.array(z.unknown()),
});
const pageSchema = z.strictObject({
  data: z.array(stepSchema),
  links: z.strictObject({ next: z.string().nullable() }),
});
const replay = async (id: string, query = '') =>
  pageSchema.parse((await acme().platform('GET', `/orders/${id}/replay${query}`)).body).data;

it('tells the whole story: actors, changes, deliveries with attempts, and the report of the ERP', async () => {
  receiver.reply('/erp', (nth) =>
    nth === 1 ? { status: 500, body: `Down ${'x'.repeat(9_000)}` } : { status: 200, body: 'Thanks' },
  );
  const webhook = await addWebhook(acme(), receiver.url('/erp'), { name: 'ERP', events: ['order.approved'] });
  const { order, line } = await validatedOrder(acme());
  await acme().update('dyn_order_line', line.id, { quantity: -2 });
  await acme().update('dyn_order_line', line.id, { quantity: 4 });
  await acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
  await approve(acme(), order.id);
  await receiver.received('/erp', 2);
  while ((await replay(order.id)).flatMap(({ deliveries }) => deliveries)[0]?.state !== 'succeeded') await wait(20);
  await acme().update('dyn_stock_order', order.id, { processing_status: 'submit_failed', error_reason: ['No stock'] });
  await acme().platform('DELETE', `/webhooks/${webhook.id}`);

  const steps = await replay(order.id);
  expect(steps.map(({ event }) => event)).toEqual([
    'OrderCreated',
    'OrderPartAdded',
    'OrderStatusChanged',
    'OrderPartChanged',
    'OrderPartChanged',
    'OrderStatusChanged',
    'OrderApproved',
    'OrderStatusChanged',
  ]);
  expect(steps[3]?.changes).toEqual([{ table: 'dyn_order_line', id: line.id, field: 'quantity', from: 2.5, to: -2 }]);
  expect(steps[6]?.actor).toMatchObject({ kind: 'user', name: expect.any(String) });
  const [delivery, ...others] = steps.flatMap(({ deliveries }) => deliveries);
  expect(others).toEqual([]);
  expect(steps[6]?.deliveries).toEqual([delivery]);
  // The webhook was removed since.
  expect(delivery).toMatchObject({
    webhook_id: webhook.id,
    webhook_name: null,
    kind: 'order.approved',
    order_id: order.id,
  });
  expect(delivery).toMatchObject({
    attempts: [
      { attempt: 1, status: 500, body_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      { attempt: 2, status: 200, response_body: 'Thanks', reason: null },
    ],
  });
  const first = z.object({ attempts: z.array(z.object({ response_body: z.string() })) }).parse(delivery).attempts[0];
  expect(first?.response_body).toHaveLength(4_096);
  expect(steps[7]).toMatchObject({ status_to: 'submit_failed', reasons: ['No stock'], actor: { kind: 'client' } });
});

it('an approval in spite of problems shows them, as they were then', async () => {
  const order = await acme().create('dyn_stock_order', {
    buyer_customer_party_id: 'LATER',
    delivery_date: '2026-12-01',
    processing_status: 'validated',
  });
  await acme().platformData('POST', `/orders/${order.id}/approve`, { override: true, reason: 'It follows.' });
  await acme().create('dyn_party', { external_id: 'LATER', name: 'Later' });
  const [created, approved] = await replay(order.id);
  expect(created?.problems).toEqual([]);
  expect(approved).toMatchObject({ reasons: ['It follows.'] });
  expect(approved?.problems.map(({ field }) => field).sort()).toEqual(['buyer_customer_party_id', 'lines']);
});
