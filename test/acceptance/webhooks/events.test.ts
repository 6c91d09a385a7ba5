/** What arrives of each kind of event (spec §6). */
import { approvedOrder, deliveriesEnded, parsed, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });

const KINDS = [
  'order.created',
  'order.updated',
  'order.status_changed',
  'order.approved',
  'order.export_failed',
  'reference.batch_upserted',
  'reference.cleaned_up',
];

it('§6, §6.1, §6.4: whatever happens, what arrives has the roots of its kind', async () => {
  const roots = { order: ['custom_data', 'validated_order'], reference: ['custom_data', 'data', 'timestamp', 'type'] };
  receiver.reply('/broken', () => ({ status: 500 }));
  await withWebhook(acme(), receiver, { path: '/every', events: KINDS }, () =>
    withWebhook(acme(), receiver, '/broken', async () => {
      const party = { external_id: 'EVERY-1', name: 'Every', _batch_id: 'every' };
      await acme().batch('dyn_party', [party]);
      await approvedOrder(acme());
      await acme().cleanUp('dyn_party', 'every');

      const kinds = new Set<string>();
      for (let count = 1; kinds.size < KINDS.length; count++) {
        const call = (await receiver.received('/every', count))[count - 1];
        const kind = String(call?.headers['webhook-event']);
        const isOrder = kind.startsWith('order.');
        expect(call?.headers['webhook-event-version']).toBe(isOrder ? '2' : '1');
        expect(Object.keys(Object(parsed(call?.body))).sort()).toEqual(isOrder ? roots.order : roots.reference);
        kinds.add(kind);
      }
      expect([...kinds].sort()).toEqual([...KINDS].sort());
    }),
  );
});

it('§6.4: deliveries about an order arrive in its sequence: each waits for the one before to succeed, or to fail for good', async () => {
  const events = ['order.created', 'order.updated', 'order.status_changed', 'order.approved'];
  receiver.reply('/sequence', (nth, { headers }) => ({
    status: nth <= 2 || headers['webhook-event'] === 'order.updated' ? 500 : 200,
  }));
  await withWebhook(acme(), receiver, { path: '/sequence', events }, async ({ id }) => {
    const orderId = await approvedOrder(acme());
    await deliveriesEnded(acme(), id, 5);
    const calls = receiver.calls('/sequence').map(({ headers }) => headers['webhook-event']);
    const [created, updated, changed, approved] = events;
    expect(calls).toEqual([...Array(3).fill(created), ...Array(5).fill(updated), changed, changed, approved]);
    const sequence = receiver.calls('/sequence').map(({ headers }) => Number(headers['webhook-sequence']));
    expect(sequence).toEqual(sequence.toSorted((a, b) => a - b));
    // Only an approval that could not be delivered fails its order.
    expect(await acme().get('dyn_stock_order', orderId)).toMatchObject({ processing_status: 'submitted' });
  });
});
