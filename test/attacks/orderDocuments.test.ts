/** An order with its parts and all the records that they name: what is named often is repeated often. */
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { MAX_DOCUMENT_BYTES } from '#app/domain/limits.js';
import { validatedOrder, withWebhook } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { expectErrorBody } from '../acceptance/refusals.js';
import { useService } from '../acceptance/useService.js';

const receiver = Receiver.ofTests();
const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });

const STORIES = ['one', 'two', 'three', 'four', 'five', 'six'];
const STORY = 'x'.repeat(65_000);
const LINES = Math.ceil(MAX_DOCUMENT_BYTES / (STORIES.length * STORY.length));
const log = z.object({ data: z.array(z.object({ state: z.string(), reason: z.string().nullable() })) });

it('an order that would be too large with the records it names is 413 to look at and to approve, and fails its deliveries', async () => {
  for (const name of STORIES) {
    await acme().platformData('POST', '/asset-types/dyn_item/fields', { name, type: 'LongText' });
  }
  const { order, item, line } = await validatedOrder(acme());
  await acme().update('dyn_item', item.id, Object.fromEntries(STORIES.map((name) => [name, STORY])));
  const { id: _id, created_at: _c, updated_at: _u, ...fields } = line;
  for (let n = 0; n < LINES; n += 1) await acme().create('dyn_order_line', { ...fields, line_number: n + 2 });

  const shown = await acme().platform('GET', `/orders/${order.id}`);
  expect(shown.status).toBe(413);
  expectErrorBody(shown);
  const deliveries = async (id: string) => {
    const answer = await acme().platform('GET', `/webhooks/${id}/deliveries`);
    return log.parse(answer.body).data;
  };
  await withWebhook(acme(), receiver, { path: '/large', events: ['order.status_changed'] }, async ({ id }) => {
    await acme().platformData('PUT', `/orders/${order.id}`, { processing_status: 'validated' });
    // A webhook may also get events of the seconds before it was made, when the order was small.
    const failed = async () => (await deliveries(id)).find(({ state }) => state === 'failed');
    let delivery = await failed();
    for (; delivery === undefined; delivery = await failed()) await wait(20);
    expect(delivery).toMatchObject({
      state: 'failed',
      reason: expect.stringMatching(/more than 4194304 characters/),
    });
  });
  const refused = await acme().platform('POST', `/orders/${order.id}/approve`);
  expect(refused.status).toBe(413);
  expectErrorBody(refused);
});
