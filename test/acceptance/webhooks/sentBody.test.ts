/** What is sent, made again from the log. */
import { createHash } from 'node:crypto';
import { addWebhook, approve, deliveriesEnded, validatedOrder } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });
const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

type Sent = { readonly headers: { readonly [name: string]: string }; readonly body: string; readonly sha256: string };
const bodyOf = async (webhook: string, delivery: string): Promise<Sent> =>
  (await acme().platformData('GET', `/webhooks/${webhook}/deliveries/${delivery}/body`)) as Sent;

it('an approval is shown byte for byte; another event that names records which have changed since, by another hash', async () => {
  const { order, item } = await validatedOrder(acme());
  const webhook = await addWebhook(acme(), receiver.url('/sent'), {
    events: ['order.updated', 'order.approved'],
    custom_data: { customer: '☕ "one"' },
  });
  await acme().update('dyn_stock_order', order.id, { customer_reference: 'changed' });
  await acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
  await approve(acme(), order.id);
  // A webhook may get events of the seconds before it was made as well.
  await receiver.received('/sent', 2);
  await acme().update('dyn_item', item.id, { name: 'Coffee' });
  const calls = receiver.calls('/sent');
  const deliveries = await deliveriesEnded(acme(), webhook.id, calls.length);
  for (const { headers, body } of calls) {
    const delivery = deliveries.find(({ id }) => id === headers['webhook-id']);
    expect(delivery?.attempts).toMatchObject([{ body_sha256: sha256(body) }]);
    const shown = await bodyOf(webhook.id, String(delivery?.id));
    expect(shown.sha256).toBe(sha256(Buffer.from(shown.body)));
    for (const [name, value] of Object.entries(shown.headers)) expect(headers[name.toLowerCase()]).toBe(value);
    expect(shown.headers['webhook-event']).toBe(headers['webhook-event']);
    if (headers['webhook-event'] === 'order.approved') expect(shown.body).toBe(String(body));
    else expect(shown.body).toContain('Coffee');
  }
  await acme().platform('DELETE', `/webhooks/${webhook.id}`);
  expect((await bodyOf(webhook.id, String(calls.at(-1)?.headers['webhook-id']))).body).toContain(order.id);
});
