/** Ids of the parts of orders: unique over all orders of the tenant, though each order is a stream of its own (spec §2.1). */
import { expectInvalid } from '../refusals.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });

it('§2.1: a line cannot take the id of a line of the same order, and not of another order', async () => {
  const acme = run.tenant('acme');
  const [one, two] = [await acme.create('dyn_stock_order', {}), await acme.create('dyn_stock_order', {})];
  const line = await acme.create('dyn_order_line', { order_id: one.id, quantity: 1 });
  for (const order of [one, two]) {
    const body = { id: line.id, order_id: order.id, quantity: 99 };
    await expectInvalid(run.service, ['id'], () => acme.postRecord('dyn_order_line', body));
  }
  expect(await acme.get('dyn_order_line', line.id)).toEqual(line);
  expect((await acme.list('dyn_order_line')).data).toEqual([line]);
});

it('§2.1: of several lines at once with the same id in different orders, at most one is made, and the service goes on', async () => {
  const acme = run.tenant('acme');
  const orders = await Promise.all(Array.from({ length: 8 }, () => acme.create('dyn_stock_order', {})));
  const id = '01a1feb1-0000-7000-8000-000000000042';
  const answers = await Promise.all(
    orders.map((order) => acme.postRecord('dyn_order_line', { id, order_id: order.id, quantity: 1 })),
  );
  expect(answers.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(1);
  expect(answers.every(({ status }) => [201, 422].includes(status))).toBe(true);
  const after = await acme.postRecord('dyn_item', { external_id: 'after', name: 'Written after' });
  expect(after).toMatchObject({ status: 201 });
  expect(after.headers['projection-pending']).toBeUndefined();
});

it('§2.1: goods of one transport cannot take the id of goods of another', async () => {
  const hauler = run.tenant('hauler');
  const consignments = [];
  for (let n = 0; n < 2; n += 1) {
    const order = await hauler.create('dyn_transport_order', {});
    consignments.push(await hauler.create('dyn_consignment', { transport_order_id: order.id }));
  }
  const [one, two] = consignments;
  const goods = await hauler.create('dyn_goods', { consignment_id: one?.id, quantity: 1 });
  const body = { id: goods.id, consignment_id: two?.id, quantity: 2 };
  await expectInvalid(run.service, ['id'], () => hauler.postRecord('dyn_goods', body));
  expect((await hauler.list('dyn_goods')).data).toEqual([goods]);
});
