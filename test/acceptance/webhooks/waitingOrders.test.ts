/** Approved orders that wait for a webhook that is disabled (spec §3, §6.4). */
import { approve, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

const newOrder = async () => (await validatedOrder(acme())).order.id;

const disable = (id: string) => acme().platformData('PUT', `/webhooks/${id}`, { enabled: false });
const enable = (id: string) => acme().platformData('PUT', `/webhooks/${id}`, { enabled: true });

it('§6.4: an order that waits between attempts when its webhook is disabled is open until it is enabled', async () => {
  receiver.reply('/waits', () => ({ status: 500, headers: { 'Retry-After': '1' } }));
  await withWebhook(acme(), receiver, '/waits', async (webhook) => {
    const id = await newOrder();
    await approve(acme(), id);
    await receiver.received('/waits', 1);
    await disable(webhook.id);
    const { body } = await acme().platform('GET', `/webhooks/${webhook.id}/deliveries`, { query: { order_id: id } });
    expect(body).toMatchObject({ data: [{ state: 'open', reason: 'The webhook is disabled: Disabled by an admin.' }] });

    receiver.reply('/waits', () => ({ status: 200 }));
    await enable(webhook.id);
    await receiver.received('/waits', 2);
  });
});
