/** What an auditor can read of an order: every change, who made it, and why (`…/assets/{id}/history`). */
import { z } from 'zod';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });

const historyList = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      occurred_at: z.string(),
      status_from: z.string().nullable(),
      status_to: z.string(),
      actor: z.unknown(),
      changes: z.array(z.unknown()),
    }),
  ),
  meta: z.looseObject({ total: z.int() }),
});
const recordWithLines = z.object({
  data: z.looseObject({ id: z.string(), lines: z.array(z.looseObject({ id: z.string() })) }),
});
const historyPath = (id: string, table = 'dyn_stock_order') => `${ASSETS}/${table}/assets/${id}/history`;
async function history(id: string) {
  const answer = await acme().send('GET', historyPath(id));
  expect(answer.status).toBe(200);
  return historyList.parse(answer.body).data;
}

it('decisions, events and streams: the history of an order shows who, when, from, to, reasons and changed fields', async () => {
  const client = acme().client.client_id;
  await acme().create('dyn_party', { external_id: 'C1', name: 'Bakkerij De Molen' });
  const order = await acme().create('dyn_stock_order', { customer_reference: 'PO-1', delivery_date: '2026-12-01' });
  const line = await acme().create('dyn_order_line', { order_id: order.id, quantity: 1 });
  await acme().update('dyn_order_line', line.id, { quantity: 5 });
  await acme().update('dyn_stock_order', order.id, { buyer_customer_party_id: 'C1', customer_reference: 'PO-2' });
  await acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
  await acme().platformData('POST', `/orders/${order.id}/approve`, { override: true, reason: 'It follows.' });
  const refused = { processing_status: 'submit_failed', error_reason: ['No stock', 'No price'] };
  await acme().update('dyn_stock_order', order.id, refused);

  const entries = await history(order.id);
  expect(entries.map(({ status_from, status_to }) => [status_from, status_to])).toEqual([
    [null, 'pending_validation'],
    ['pending_validation', 'pending_validation'],
    ['pending_validation', 'pending_validation'],
    ['pending_validation', 'saved'],
    ['saved', 'validated'],
    ['validated', 'submitted'],
    ['submitted', 'submit_failed'],
  ]);
  const [created, added, changed, saved, , approved, failed] = entries;
  expect(created?.actor).toMatchObject({ kind: 'client', id: client, name: 'First API client' });
  const reference = { table: 'dyn_stock_order', id: order.id, field: 'customer_reference' };
  expect(created?.changes).toContainEqual({ ...reference, from: null, to: 'PO-1' });
  expect(added?.changes).toContainEqual({ table: 'dyn_order_line', id: line.id, field: 'quantity', from: null, to: 1 });
  expect(changed?.changes).toEqual([{ table: 'dyn_order_line', id: line.id, field: 'quantity', from: 1, to: 5 }]);
  expect(saved?.changes).toContainEqual({ ...reference, from: 'PO-1', to: 'PO-2' });
  expect(approved?.actor).toMatchObject({ kind: 'user', id: '1' });
  expect(failed).toMatchObject({ reasons: ['No stock', 'No price'], actor: { kind: 'client', id: client } });
  const times = entries.map(({ occurred_at }) => occurred_at);
  expect(times).toEqual([...times].sort());
  for (const time of times) expect(time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  expect(new Set(entries.map(({ id }) => id)).size).toBe(7);
});

it('§2.2: a long history has pages', async () => {
  const { id } = await acme().create('dyn_stock_order', {});
  for (let n = 0; n < 29; n += 1) {
    await acme().update('dyn_stock_order', id, { processing_status: n % 2 === 0 ? 'saved' : 'validated' });
  }
  const first = historyList.parse((await acme().send('GET', historyPath(id))).body);
  expect(first.data).toHaveLength(25);
  expect(first.meta).toMatchObject({ total: 30, last_page: 2, per_page: 25 });
  const second = historyList.parse((await acme().send('GET', historyPath(id), { query: { page: '2' } })).body);
  expect(second.data).toHaveLength(5);
  await expectRefused(service(), 400, () => acme().send('GET', historyPath(id), { query: { page: '0' } }));
});

it('a part has its history, also after it was removed', async () => {
  const made = await acme().postRecord('dyn_stock_order', { lines: [{ quantity: 1 }, { quantity: 7 }] });
  const [line, other] = recordWithLines.parse(made.body).data.lines;
  const id = line?.id ?? '';
  await acme().update('dyn_order_line', id, { quantity: 2, description: 'Tea' });
  await acme().update('dyn_order_line', other?.id ?? '', { quantity: 8 });
  expect((await acme().platform('DELETE', `/tables/dyn_order_line/assets/${id}`)).status).toBe(204);
  const part = z.object({
    data: z.array(z.looseObject({ kind: z.string(), change: z.string(), fields: z.looseObject({}) })),
    links: z.object({ next: z.string().nullable() }),
  });
  const { data, links } = part.parse((await acme().send('GET', historyPath(id, 'dyn_order_line'))).body);
  expect(data).toMatchObject([
    {
      kind: 'order.parts_changed',
      change: 'delete',
      fields: { quantity: { from: 2, to: null } },
      actor: { kind: 'user' },
    },
    {
      kind: 'order.part_changed',
      change: 'update',
      fields: { quantity: { from: 1, to: 2 }, description: { from: null, to: 'Tea' } },
    },
    { kind: 'order.created', change: 'create', fields: { quantity: { from: null, to: 1 } }, operation_id: null },
  ]);
  expect(links.next).toBeNull();
  const first = part.parse((await acme().platform('GET', `/tables/dyn_order_line/assets/${id}/history?limit=2`)).body);
  const next = await acme().platform('GET', `/tables/dyn_order_line/assets/${id}/history`, {
    query: new URL(String(first.links.next)).search.slice(1),
  });
  expect([...first.data, ...part.parse(next.body).data]).toEqual(data);
});
