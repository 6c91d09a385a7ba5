/** What an attempt sent, made again from the log. */
import { createHash } from 'node:crypto';
import { addWebhook, approve, deliveriesEnded, validatedOrder } from '../export.js';
import { Receiver } from '../receiver.js';
import { expectErrorBody } from '../refusals.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');
const sha256 = (body: Buffer): string => createHash('sha256').update(body).digest('hex');

type Sent = {
  readonly body: string;
  readonly sent_sha256: string;
  readonly made_sha256: string;
  readonly is_proved: boolean;
};
const bodyOf = async (webhook: string, delivery: string, attempt = 1): Promise<Sent> =>
  (await acme().platformData('GET', `/webhooks/${webhook}/deliveries/${delivery}/body?attempt=${attempt}`)) as Sent;
it('an approval is shown byte for byte, after its webhook has other custom data and is removed', async () => {
  let answerFirst = (): void => undefined;
  receiver.reply('/sent', (nth) => {
    if (nth > 1) return { status: 200 };
    return (answer) => {
      answerFirst = () => answer.writeHead(503).end();
    };
  });
  const webhook = await addWebhook(acme(), receiver.url('/sent'), { custom_data: { customer: '☕ "one"' } });
  const { order } = await validatedOrder(acme());
  await approve(acme(), order.id);
  await receiver.received('/sent', 1);
  await acme().platformData('PUT', `/webhooks/${webhook.id}`, { custom_data: { customer: 'two' } });
  answerFirst();
  await deliveriesEnded(acme(), webhook.id, 1);
  const calls = receiver.calls('/sent');
  expect(calls).toHaveLength(2);
  await acme().platform('DELETE', `/webhooks/${webhook.id}`);
  const id = String(calls[0]?.headers['webhook-id']);
  for (const [index, { body }] of calls.entries()) {
    const attempt = index + 1;
    const sent = await bodyOf(webhook.id, id, attempt);
    expect(sent).toMatchObject({ attempt, is_proved: true, body: String(body), sent_sha256: sha256(body) });
  }
  const none = await acme().platform('GET', `/webhooks/${webhook.id}/deliveries/${id}/body?attempt=5`);
  expect(none.status).toBe(404);
  expectErrorBody(none);
});

it('one that names records which have changed since is not said to be what was sent', async () => {
  const { order, item } = await validatedOrder(acme());
  const webhook = await addWebhook(acme(), receiver.url('/changed'), { events: ['order.updated'] });
  await acme().update('dyn_stock_order', order.id, { customer_reference: 'changed' });
  const [call] = await receiver.received('/changed', 1);
  const id = String(call?.headers['webhook-id']);
  // A webhook may get events of the seconds before it was made as well.
  const delivery = (await deliveriesEnded(acme(), webhook.id, 1)).find((each) => each.id === id);
  const before = await bodyOf(webhook.id, id);
  expect(before).toMatchObject({ is_proved: true, body: String(call?.body) });
  expect(delivery?.attempts).toMatchObject([{ body_sha256: before.made_sha256 }]);
  await acme().update('dyn_item', item.id, { name: 'Coffee' });
  const after = await bodyOf(webhook.id, id);
  expect(after).toMatchObject({ is_proved: false, sent_sha256: before.sent_sha256 });
  expect(after.body).toContain('Coffee');
});
