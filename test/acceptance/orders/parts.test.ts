/**
 * The parts of orders: their ids, which are unique over all orders of the tenant though each order is a stream of its own
 * (spec §2.1), orders that are sent with their parts, and parts that are removed.
 */
import { randomUUID } from 'node:crypto';
import type { Answer } from '../http.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import type { AssetRecord, Fields } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });

const hauler = () => tenant('hauler');
type Whole = AssetRecord & { readonly [list: string]: readonly Whole[] };
const whole = (answer: Answer, status: number): Whole => {
  expect(answer).toMatchObject({ status });
  return Object(answer.body).data;
};
const place = async (fields: Fields): Promise<Whole> => whole(await acme().postRecord('dyn_stock_order', fields), 201);
const replace = async (id: string, fields: Fields): Promise<Whole> =>
  whole(await acme().putRecord('dyn_stock_order', id, fields), 200);
const linesOf = async (order_id: string) =>
  (await acme().list('dyn_order_line', { 'filter[order_id]': order_id, sort: 'line_number' })).data;
const remove = (table: string, id: string, tenant = acme()) =>
  tenant.send('DELETE', `/api/v1/dynamic-assets/dyn/${table}/assets/${id}`);
const line = (line_number: number, more: Fields = {}) => ({ line_number, quantity: line_number, ...more });

describe('an order with its parts in one request', () => {
  it('is one event, and shows at once what was sent, with ids', async () => {
    const before = await service().logHead();
    const order = await place({ customer_reference: 'PO 1', lines: [line(1), line(2), line(3)] });
    expect(await service().logHead()).toBe(before + 1);
    expect(order).toMatchObject({ customer_reference: 'PO 1', processing_status: 'pending_validation' });
    expect(order.lines).toMatchObject([1, 2, 3].map((n) => ({ ...line(n), order_id: order.id })));
    expect(await linesOf(order.id)).toEqual(order.lines);
    const { lines: _, ...record } = order;
    expect(await acme().get('dyn_stock_order', order.id)).toEqual(record);
    const history = await acme().send('GET', `/api/v1/dynamic-assets/dyn/dyn_stock_order/assets/${order.id}/history`);
    const [created] = Object(history.body).data;
    expect(created.changes).toContainEqual({
      table: 'dyn_order_line',
      id: order.lines?.[1]?.id,
      field: 'quantity',
      from: null,
      to: 2,
    });
  });

  it('of a transport has consignments with goods, and charges', async () => {
    const body = {
      transport_reference: 'T-1',
      consignments: [{ loading_date: '2026-12-01', goods: [{ quantity: 2 }, { quantity: 3 }] }, {}],
      allowance_charges: [{ charge_indicator: true, amount: 9.95 }],
    };
    const order = whole(await hauler().postRecord('dyn_transport_order', body), 201);
    expect(order).toMatchObject({
      consignments: [{ transport_order_id: order.id, goods: [{ quantity: 2 }, { quantity: 3 }] }, { goods: [] }],
      allowance_charges: [{ amount: 9.95, transport_order_id: order.id }],
    });
    const [first, second] = order.consignments ?? [];
    const { data: goods } = await hauler().list('dyn_goods', { 'filter[consignment_id]': String(first?.id) });
    expect(goods).toEqual(first?.goods);
    expect((await remove('dyn_consignment', String(first?.id), hauler())).status).toBe(204);
    expect((await hauler().list('dyn_goods', { 'filter[consignment_id]': String(first?.id) })).data).toEqual([]);
    expect((await hauler().list('dyn_consignment', { 'filter[transport_order_id]': order.id })).data).toMatchObject([
      { id: second?.id },
    ]);
  });

  it('is refused as a whole, with every error under the path of its part', async () => {
    const lines = [
      line(1),
      { line_number: 'x' },
      { quantity: 1, order_id: randomUUID() },
      { quantity: 1, colour: 'red' },
    ];
    await expectInvalid(
      service(),
      ['delivery_date', 'lines.1.line_number', 'lines.1.quantity', 'lines.2.order_id', 'lines.3.colour'],
      () => acme().postRecord('dyn_stock_order', { delivery_date: 'soon', lines }),
    );
    for (const [wrong, field] of [
      ['all', 'lines'],
      [null, 'lines'],
      [[7], 'lines.0'],
      [Array.from({ length: 1_001 }, () => line(1)), 'lines'],
    ] as const) {
      await expectInvalid(service(), [field], () => acme().postRecord('dyn_stock_order', { lines: wrong }));
    }
    await expectInvalid(service(), ['lines', 'order_id'], () =>
      acme().postRecord('dyn_order_line', { ...line(1), lines: [] }),
    );
  });

  it('has at most 1,000 parts, in however many requests they come', async () => {
    const goods = (count: number) => ({ goods: Array(count).fill({ quantity: 1 }) });
    const charges = Array(400).fill({ charge_indicator: true, amount: 1 });
    const { id } = await hauler().create('dyn_transport_order', { allowance_charges: charges });
    const put = (consignments: readonly object[]) => hauler().putRecord('dyn_transport_order', id, { consignments });
    const [first] = whole(await put([goods(399)]), 200).consignments ?? [];
    await expectInvalid(service(), ['consignments'], () => put([{ id: first?.id }, goods(200)]));
    expect((await put([{ id: first?.id }, goods(199)])).status).toBe(200);
    const one = { consignment_id: first?.id, quantity: 1 };
    await expectInvalid(service(), ['consignment_id'], () => hauler().postRecord('dyn_goods', one));
  });

  it('has parts with ids of the service alone: one that is not of the order is refused, with all others', async () => {
    const owner = await place({ lines: [line(1), line(2)] });
    const other = await place({ lines: [line(3)] });
    const body = { lines: [line(1), line(2, { id: randomUUID() })] };
    await expectInvalid(service(), ['lines.1.id'], () => acme().postRecord('dyn_stock_order', body));
    for (const { id } of owner.lines ?? []) {
      const taken = { lines: [{ ...line(9), id }] };
      await expectInvalid(service(), ['lines.0.id'], () => acme().putRecord('dyn_stock_order', other.id, taken));
      await expectInvalid(service(), ['lines.0.id'], () =>
        acme().platform('PUT', `/orders/${other.id}`, { body: taken }),
      );
      await expectInvalid(service(), ['order_id'], () =>
        acme().putRecord('dyn_order_line', id, { order_id: other.id }),
      );
      await expectInvalid(service(), ['id'], () =>
        acme().postRecord('dyn_order_line', { id, order_id: other.id, quantity: 1 }),
      );
    }
    expect(await linesOf(owner.id)).toEqual(owner.lines);
    expect(await linesOf(other.id)).toEqual(other.lines);
  });

  it('a put list takes the place of the parts that are there: known ids change, others are added, the rest is removed', async () => {
    const order = await place({ lines: [line(1, { description: 'Tea' }), line(2), line(3)] });
    const [first, , third] = order.lines ?? [];
    const changed = await replace(order.id, { lines: [{ id: first?.id, quantity: 10 }, third, line(4)] });
    expect(changed.lines).toMatchObject([
      { ...first, quantity: 10, updated_at: expect.any(String) },
      third ?? {},
      line(4),
    ]);
    expect(await linesOf(order.id)).toEqual(changed.lines);
    const stale = {
      headers: { 'if-match': String((await acme().getRecord('dyn_stock_order', order.id)).headers.etag) },
    };
    const before = await service().logHead();
    await replace(order.id, { lines: changed.lines });
    expect(await service().logHead()).toBe(before);
    expect(await replace(order.id, { notes: 'Empty', lines: [] })).toMatchObject({ notes: 'Empty', lines: [] });
    await expectRefused(service(), 412, () =>
      acme().putRecord('dyn_stock_order', order.id, { lines: [line(9)] }, stale),
    );
    expect(await linesOf(order.id)).toEqual([]);
    await expectInvalid(service(), ['lines.0.id'], () =>
      acme().putRecord('dyn_stock_order', order.id, { lines: [{ id: first?.id, quantity: 1 }] }),
    );
  });

  it('is validated by a person together with what they change in its lines', async () => {
    const order = await place({ buyer_customer_party_id: 'C-1', delivery_date: '2026-12-01' });
    const save = (body: Fields) => acme().platform('PUT', `/orders/${order.id}`, { body });
    await expectInvalid(service(), ['lines'], () => save({ processing_status: 'validated', lines: [] }));
    await expectInvalid(service(), ['lines.0.item_id', 'lines.0.unit_code_id'], () =>
      save({ processing_status: 'validated', lines: [line(1)] }),
    );
    const lines = [line(1, { item_id: randomUUID(), unit_code_id: randomUUID() })];
    const saved = whole(await save({ processing_status: 'validated', lines }), 200);
    expect(saved).toMatchObject({ processing_status: 'validated', lines });
  });
});

describe('a line', () => {
  it('that is removed is gone, and is 404 from then on', async () => {
    const order = await place({});
    const made = await acme().create('dyn_order_line', { order_id: order.id, quantity: 1 });
    expect(await remove('dyn_order_line', made.id)).toMatchObject({ status: 204, text: '' });
    expect(await linesOf(order.id)).toEqual([]);
    await expectRefused(service(), 404, () => remove('dyn_order_line', made.id));
    await expectRefused(service(), 404, () =>
      acme().putRecord('dyn_order_line', made.id, { order_id: order.id, quantity: 2 }),
    );
  });

  it('that is added, changed, removed or replaced makes a validated order saved', async () => {
    const order = await place({ lines: [line(1)] });
    const id = String(order.lines?.[0]?.id);
    const changes: (() => Promise<Answer>)[] = [
      () => acme().postRecord('dyn_order_line', { order_id: order.id, quantity: 1 }),
      () => acme().putRecord('dyn_order_line', id, { quantity: 9 }),
      () => remove('dyn_order_line', id),
      () => acme().putRecord('dyn_stock_order', order.id, { lines: [line(2)] }),
    ];
    for (const change of changes) {
      await acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
      expect((await change()).status).toBeLessThan(300);
      expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({ processing_status: 'saved' });
    }
  });

  it.each(['submitted', 'completed'])(
    'of an order that is %s is 409, and so are fields, unless a status is sent',
    async (status) => {
      const order = await place({ lines: [line(1)] });
      await acme().update('dyn_stock_order', order.id, { processing_status: status });
      const lineId = String(order.lines?.[0]?.id);
      const refused: (() => Promise<Answer>)[] = [
        () => acme().postRecord('dyn_order_line', { order_id: order.id, quantity: 1 }),
        () => acme().putRecord('dyn_order_line', lineId, { quantity: 9 }),
        () => remove('dyn_order_line', lineId),
        () => acme().putRecord('dyn_stock_order', order.id, { notes: 'New' }),
        () => acme().putRecord('dyn_stock_order', order.id, { lines: [] }),
      ];
      for (const send of refused) await expectRefused(service(), 409, send);
      const sent = { processing_status: 'saved', notes: 'New', lines: [line(7)] };
      expect(await replace(order.id, sent)).toMatchObject(sent);
    },
  );
});
