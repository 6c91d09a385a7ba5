/** The event catalogue over HTTP (spec §6.5), and exports as it describes them. */
import { z } from 'zod';
import { approve, deliveriesEnded, parsed, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import type { TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

const KINDS = [
  'order.created',
  'order.updated',
  'order.status_changed',
  'order.approved',
  'order.export_failed',
  'reference.batch_upserted',
  'reference.cleaned_up',
];

const catalogue = z.strictObject({
  data: z.array(
    z.strictObject({
      kind: z.string(),
      version: z.string(),
      description: z.string(),
      example: z.looseObject({ custom_data: z.looseObject({}) }),
    }),
  ),
});

async function catalogueOf(tenant: TenantClient) {
  const answer = await tenant.platform('GET', '/webhook-events');
  expect(answer.status).toBe(200);
  return catalogue.parse(answer.body).data;
}

it('§6, §6.1, §6.4: whatever happens, what arrives has the roots of its kind’s example', async () => {
  const entries = new Map((await catalogueOf(acme())).map((entry) => [entry.kind, entry]));
  receiver.reply('/broken', () => ({ status: 500 }));
  await withWebhook(
    acme(),
    receiver,
    '/every',
    () =>
      withWebhook(acme(), receiver, '/broken', async () => {
        const party = { external_id: 'EVERY-1', name: 'Every', _batch_id: 'every' };
        await acme().batch('dyn_party', [party]);
        const { order } = await validatedOrder(acme());
        await approve(acme(), order.id);
        await acme().cleanUp('dyn_party', 'every');

        const kinds = new Set<string>();
        for (let count = 1; kinds.size < KINDS.length; count++) {
          const call = (await receiver.received('/every', count))[count - 1];
          const entry = entries.get(String(call?.headers['webhook-event']));
          expect(call?.headers['webhook-event-version']).toBe(entry?.version);
          expect(Object.keys(Object(parsed(call?.body))).sort()).toEqual(Object.keys(entry?.example ?? {}).sort());
          kinds.add(String(entry?.kind));
        }
        expect([...kinds].sort()).toEqual([...KINDS].sort());
      }),
    { events: KINDS },
  );
});

it('§6.4: deliveries about an order arrive in its sequence: each waits for the one before to succeed, or to fail for good', async () => {
  const events = ['order.created', 'order.updated', 'order.status_changed', 'order.approved'];
  receiver.reply('/sequence', (nth, { headers }) => ({
    status: nth <= 2 || headers['webhook-event'] === 'order.updated' ? 500 : 200,
  }));
  await withWebhook(
    acme(),
    receiver,
    '/sequence',
    async ({ id }) => {
      const { order } = await validatedOrder(acme());
      await approve(acme(), order.id);
      await deliveriesEnded(acme(), id, 5);
      const calls = receiver.calls('/sequence').map(({ headers }) => headers['webhook-event']);
      const [created, updated, changed, approved] = events;
      expect(calls).toEqual([...Array(3).fill(created), ...Array(5).fill(updated), changed, changed, approved]);
      const sequence = receiver.calls('/sequence').map(({ headers }) => Number(headers['webhook-sequence']));
      expect(sequence).toEqual(sequence.toSorted((a, b) => a - b));
      // Only an approval that could not be delivered fails its order.
      expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({ processing_status: 'submitted' });
    },
    { events },
  );
});
