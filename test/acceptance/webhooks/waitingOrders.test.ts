/** Approved orders that are not sent, for no webhook wants them or one is disabled: who looks at them sees it (spec §3, §6.4). */
import { z } from 'zod';
import { validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const answered = z.looseObject({ warnings: z.array(z.looseObject({ code: z.string() })).optional() });

const approved = async (id: string) =>
  answered.parse((await acme().platform('POST', `/orders/${id}/approve`, { body: {} })).body);
const detail = async (id: string) => answered.parse(await acme().platformData('GET', `/orders/${id}`));
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

it('§3: an approval that no webhook wants says so, before and in its answer', async () => {
  const id = await newOrder();
  expect(await detail(id)).toMatchObject({ warnings: [NO_WEBHOOK] });
  expect(await approved(id)).toMatchObject({ data: { processing_status: 'submitted' }, warnings: [NO_WEBHOOK] });
  expect(await detail(id)).toMatchObject({ warnings: [] });
});

it('an approval whose webhook is disabled says so; the webhook has it when it is enabled', async () => {
  await withWebhook(acme(), receiver, '/disabled', async (webhook) => {
    await disable(webhook.id);
    const warnings = [disabledBy(webhook.id)];
    const id = await newOrder();
    expect(await detail(id)).toMatchObject({ warnings });
    expect(await approved(id)).toMatchObject({ warnings });
    await enable(webhook.id);
    await receiver.received('/disabled', 1);
  });
});

it('§6.4: an order that waits between attempts when its webhook is disabled is open until it is enabled', async () => {
  receiver.reply('/waits', () => ({ status: 500, headers: { 'Retry-After': '1' } }));
  await withWebhook(acme(), receiver, '/waits', async (webhook) => {
    const id = await newOrder();
    expect(await approved(id)).toMatchObject({ warnings: [] });
    await receiver.received('/waits', 1);
    await disable(webhook.id);
    const { body } = await acme().platform('GET', `/webhooks/${webhook.id}/deliveries`, { query: { order_id: id } });
    expect(body).toMatchObject({ data: [{ state: 'open', reason: 'The webhook is disabled: Disabled by an admin.' }] });

    receiver.reply('/waits', () => ({ status: 200 }));
    await enable(webhook.id);
    await receiver.received('/waits', 2);
  });
});
