/** Approved orders that are not sent, for no webhook wants them or one is disabled: who looks at them sees it (spec §3, §6.4). */
import { z } from 'zod';
import { deliveriesEnded, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const answered = z.looseObject({ warnings: z.array(z.looseObject({ code: z.string() })).optional() });

const approved = async (id: string) =>
  answered.parse((await acme().platform('POST', `/orders/${id}/approve`, { body: {} })).body);
const detail = async (id: string) => answered.parse(await acme().platformData('GET', `/orders/${id}`));
const history = async (id: string) =>
  z
    .object({ data: z.array(z.looseObject({ event: z.string(), warnings: z.array(z.unknown()) })) })
    .parse((await acme().platform('GET', `/orders/${id}/history`)).body).data;
const newOrder = async () => (await validatedOrder(acme())).order.id;

const NO_WEBHOOK = {
  code: 'no_webhook',
  webhook_id: null,
  message: 'No webhook subscribes to order.approved, so the order is sent to nobody.',
};
const disabledBy = (id: string, reason = 'Disabled by an admin.') => ({
  code: 'webhook_disabled',
  webhook_id: id,
  message: `Webhook 127.0.0.1:${new URL(receiver.url('/')).port} is disabled: ${reason} The order is sent to it when it is enabled.`,
});
const disable = (id: string) => acme().platformData('PUT', `/webhooks/${id}`, { enabled: false });
const enable = (id: string) => acme().platformData('PUT', `/webhooks/${id}`, { enabled: true });

it('§3: an approval that no webhook wants says so: in its answer, the order and the history', async () => {
  const id = await newOrder();
  expect(await approved(id)).toMatchObject({ data: { processing_status: 'submitted' }, warnings: [NO_WEBHOOK] });
  expect(await detail(id)).toMatchObject({ warnings: [NO_WEBHOOK] });
  expect((await history(id)).at(-1)).toMatchObject({ event: 'OrderApproved', warnings: [NO_WEBHOOK] });

  const key = { 'Idempotency-Key': 'approve-once' };
  const other = await newOrder();
  for (let i = 0; i < 2; i++) {
    const { body } = await acme().platform('POST', `/orders/${other}/approve`, { body: {}, headers: key });
    expect(body).toMatchObject({ warnings: [NO_WEBHOOK] });
  }
  await acme().update('dyn_stock_order', id, { processing_status: 'completed' });
});

it('an approval whose webhook is disabled warns until that is enabled and has it', async () => {
  await withWebhook(acme(), receiver, '/disabled', async (webhook) => {
    await disable(webhook.id);
    const warnings = [disabledBy(webhook.id)];
    const id = await newOrder();
    expect(await approved(id)).toMatchObject({ warnings });
    expect(await detail(id)).toMatchObject({ warnings });
    expect((await history(id)).at(-1)).toMatchObject({ event: 'OrderApproved', warnings });

    await enable(webhook.id);
    await receiver.received('/disabled', 1);
    expect(await detail(id)).toMatchObject({ warnings: [] });
    // It was delivered: that the webhook is disabled once more does not concern it.
    await deliveriesEnded(acme(), webhook.id, 1);
    await disable(webhook.id);
    expect(await detail(id)).toMatchObject({ warnings: [] });
  });
});

it('§6.4: an order that waits between attempts when its webhook is disabled is open until it is enabled', async () => {
  receiver.reply('/waits', () => ({ status: 500, headers: { 'Retry-After': '1' } }));
  await withWebhook(acme(), receiver, '/waits', async (webhook) => {
    const id = await newOrder();
    expect(await approved(id)).not.toHaveProperty('warnings');
    await receiver.received('/waits', 1);
    await disable(webhook.id);
    const { body } = await acme().platform('GET', `/webhooks/${webhook.id}/deliveries`, { query: { order_id: id } });
    expect(body).toMatchObject({ data: [{ state: 'open', reason: 'The webhook is disabled: Disabled by an admin.' }] });

    receiver.reply('/waits', () => ({ status: 200 }));
    await enable(webhook.id);
    await receiver.received('/waits', 2);
  });
});
