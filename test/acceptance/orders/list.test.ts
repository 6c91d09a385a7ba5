/** What a screen of orders to validate needs: customers, search and counts. */
import { z } from 'zod';
import { addPerson, dataOf, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import type { Fields, Query } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const hauler = () => tenant('hauler');
let validator: Person;
let tea: string;
let piece: string;
beforeAll(async () => {
  validator = await addPerson(acme(), 'vera', ['validator']);
  for (const [external_id, name] of [
    ['C-1', 'Bakkerij De Molen'],
    ['C-2', 'Slagerij De Os'],
  ])
    await acme().create('dyn_party', { external_id, name });
  tea = (await acme().create('dyn_item', { external_id: 'I-1', name: 'Tea', sku: 'GREEN-7', ean: '8712345' })).id;
  piece = (await acme().create('dyn_unit_code', { code: 'PCE', value: 'Piece' })).id;
});

const newOrder = async (fields: Fields): Promise<string> => (await acme().create('dyn_stock_order', fields)).id;

const listed = z.object({
  data: z.array(z.looseObject({ id: z.string() })),
  meta: z.looseObject({ total: z.int() }),
});
const orders = async (query: Query) => {
  const answer = await acme().platform('GET', '/orders', { query, token: validator.token });
  expect(answer).toMatchObject({ status: 200 });
  return listed.parse(answer.body);
};
const refused = (query: string) =>
  expectRefused(service(), 400, () => acme().platform('GET', '/orders', { query, token: validator.token }));

it('shows the name of each customer', async () => {
  const known = await newOrder({ customer_reference: 'S 1', buyer_customer_party_id: 'C-1' });
  const unknown = await newOrder({ customer_reference: 'S 2', buyer_customer_party_id: 'none' });
  const none = await newOrder({ customer_reference: 'S 3' });
  expect((await orders({ 'filter[customer_reference]': 'S ' })).data).toMatchObject([
    { id: known, customer: 'Bakkerij De Molen' },
    { id: unknown, customer: null },
    { id: none, customer: null },
  ]);
  await hauler().create('dyn_party', { external_id: 'C-1', name: 'Shipper' });
  await hauler().create('dyn_transport_order', { buyer_customer_party_id: 'C-1' });
  const { body } = await hauler().platform('GET', '/orders');
  expect(body).toMatchObject({ data: [{ customer: 'Shipper' }] });
});

describe('lines and problems', () => {
  const line = { quantity: 1, item_id: '', unit_code_id: '' };
  const head = { buyer_customer_party_id: 'C-1', delivery_date: '2026-12-01' };
  beforeAll(() => Object.assign(line, { item_id: tea, unit_code_id: piece }));
  const asked = (name: string, more: Query = {}) => ({ 'filter[customer_reference]': name, ...more });

  it('are counted for each order as it is shown alone, until nobody works on it', async () => {
    const ids = [
      await newOrder({ ...head, customer_reference: 'L 1', lines: [line, line] }),
      await newOrder({ customer_reference: 'L 2', lines: [{ ...line, quantity: 0 }] }),
      await newOrder({ customer_reference: 'L 3', processing_status: 'completed', lines: [line] }),
    ];
    const { data } = await orders(asked('L '));
    expect(data).toMatchObject([
      { id: ids[0], lines: 2, problems: 0 },
      { id: ids[1], lines: 1, problems: 3 },
      { id: ids[2], lines: 1, problems: null },
    ]);
    const alone = await validator.call('GET', `/orders/${ids[1]}`);
    expect(Object(alone.body).data.problems).toHaveLength(3);
  });

  it('problems are those of now: a record that comes later ends one', async () => {
    await newOrder({ ...head, buyer_customer_party_id: 'later', customer_reference: 'Now', lines: [line] });
    expect((await orders(asked('Now'))).data).toMatchObject([{ lines: 1, problems: 1 }]);
    await acme().batch('dyn_party', [{ external_id: 'later', name: 'Later' }]);
    expect((await orders(asked('Now'))).data).toMatchObject([{ lines: 1, problems: 0 }]);
    expect((await orders(asked('Now', { problems: 'some' }))).meta.total).toBe(0);
  });

  it('orders with and without problems are found, in pages with their totals', async () => {
    const numbers = Array.from({ length: 30 }, (_, n) => n);
    for (const n of numbers) await newOrder({ ...(n % 10 > 0 && head), customer_reference: `P ${n}`, lines: [line] });
    await newOrder({ customer_reference: 'P done', processing_status: 'completed' });
    expect(await orders(asked('P ', { problems: 'some' }))).toMatchObject({
      data: ['P 0', 'P 10', 'P 20'].map((customer_reference) => ({ customer_reference, problems: 2 })),
      meta: { total: 3, last_page: 1 },
    });
    const none = asked('P ', { problems: 'none', sort: '-created_at', page: '2' });
    expect(await orders(none)).toMatchObject({
      data: [{ customer_reference: 'P 2' }, { customer_reference: 'P 1' }],
      meta: { total: 27, from: 26, to: 27 },
    });
  });

  it('of a transport order are its consignments, and problems of its goods and charges', async () => {
    const goods = [{ quantity: 0, packing_type_id: tea }];
    const parts = {
      consignments: [{ goods }, { goods: [] }],
      allowance_charges: [{ charge_indicator: true, amount: 1 }],
    };
    await hauler().create('dyn_transport_order', { buyer_customer_party_id: 'C-2', customer_reference: 'T', ...parts });
    const list = await hauler().platform('GET', '/orders', {
      query: { problems: 'some', 'filter[customer_reference]': 'T' },
    });
    // The party and the packing type are the other tenant's, and there is no quantity of nothing.
    expect(list.body).toMatchObject({ data: [{ lines: 2, problems: 3 }], meta: { total: 1 } });
  });

  it('are null where a page has more than MAX_COUNTED_PARTS parts, and cannot be sought there', async () => {
    for (let n = 1; n <= 3; n += 1)
      await newOrder({ customer_reference: 'Big', lines: Array(n === 3 ? 1 : 1_000).fill({ quantity: 1 }) });
    expect((await orders(asked('Big'))).data).toMatchObject(Array(3).fill({ lines: null, problems: null }));
    await refused('problems=none&filter[customer_reference]=Big');
    await refused('problems=few');
  });

  it('orders are sorted by the name of the customer, by lines and by problems', async () => {
    const add = (customer_reference: string, more: object) => newOrder({ ...head, customer_reference, ...more });
    await add('O 1', { error_reason: ['a'], buyer_customer_party_id: 'C-2', lines: [line] });
    await add('O 2', { error_reason: ['B'], lines: Array(3).fill({ ...line, quantity: 0 }) });
    await add('O 3', { buyer_customer_party_id: null, lines: [line, line] });
    const by = async (sort: string) =>
      (await orders(asked('O ', { sort }))).data.map((order) => order.customer_reference);
    expect(await by('customer')).toEqual(['O 3', 'O 2', 'O 1']);
    expect(await by('-lines')).toEqual(['O 2', 'O 3', 'O 1']);
    expect(await by('problems')).toEqual(['O 1', 'O 3', 'O 2']);
    expect(await by('error_reason')).toEqual(['O 3', 'O 1', 'O 2']);
    expect(await orders(asked('O ', { sort: '-customer', problems: 'some' }))).toMatchObject({
      data: [{ customer: 'Bakkerij De Molen', problems: 3 }, { customer: null }],
      meta: { total: 2 },
    });
  });

  it('problems are sought in at most MAX_COUNTED_ORDERS orders, and these sorted', async () => {
    const parallel = Array.from({ length: 501 }, () => newOrder({ customer_reference: 'Crowd' }));
    await Promise.all(parallel);
    const answer = await refused('problems=some&filter[customer_reference]=Crowd');
    expect(answer.body).toMatchObject({ error: expect.stringContaining('500 orders') });
    await refused('sort=customer&filter[customer_reference]=Crowd');
  });
});

describe('search', () => {
  it('finds orders by reference, sales order id, customer and id, in any case, within the filters', async () => {
    const one = await newOrder({ customer_reference: 'Find 1 Molen', sales_order_id: 'SO-1', notes: 'Molen' });
    const two = await newOrder({ customer_reference: 'Find 2', buyer_customer_party_id: 'C-1' });
    const three = await newOrder({ customer_reference: 'Find 3', sales_order_id: 'so-molen' });
    const other = await newOrder({ customer_reference: 'Find 4', buyer_customer_party_id: 'C-2' });
    const find = async (search: string, more: Query = {}) => {
      const query = { 'filter[customer_reference]': 'find', sort: 'customer_reference', search, ...more };
      const { data, meta } = await orders(query);
      expect(meta.total).toBe(data.length);
      return data.map(({ id }) => id);
    };
    expect(await find(' MOLEN')).toEqual([one, two, three]);
    expect(await find('molen', { 'filter[sales_order_id]': 'so' })).toEqual([one, three]);
    expect(await find('os  SLAGERIJ')).toEqual([other]);
    expect(await find('molen 1')).toEqual([one]);
    await acme().create('dyn_party', { external_id: 'C-3', name: 'Brasserie Café Zoë' });
    const accented = await newOrder({ customer_reference: 'Find 5', buyer_customer_party_id: 'C-3' });
    for (const search of ['cafe', 'zoë', 'zoe brasserie']) expect(await find(search)).toEqual([accented]);
    expect(await find(two.toUpperCase())).toEqual([two]);
    expect(await find('nowhere')).toEqual([]);
    expect(await find('molen', { 'filter[processing_status]': 'completed' })).toEqual([]);
  });

  it('finds orders by the name, number or EAN of an item in their lines', async () => {
    const lines = [{ quantity: 1, item_id: tea }];
    const order = await newOrder({ customer_reference: 'With tea', lines });
    for (const search of ['TEA', '8712', 'green-7'])
      expect((await orders({ search, 'filter[customer_reference]': 'with' })).data).toMatchObject([{ id: order }]);
    expect((await orders({ search: 'coffee' })).meta.total).toBe(0);
    expect(await hauler().platform('GET', '/orders', { query: { search: 'tea' } })).toMatchObject({ status: 200 });
  });

  it.each(['search=', 'search=%20', `search=${'x'.repeat(256)}`])('%s is 400', (query) => refused(query));

  it('of a text that more than 200 customers have in their names is 400, and says so', async () => {
    const parties = Array.from({ length: 201 }, (_, n) => ({ external_id: `M-${n}`, name: `Crowded ${n}` }));
    await acme().batch('dyn_party', parties);
    const answer = await refused('search=crowded');
    expect(answer.body).toMatchObject({ error: expect.stringContaining('200 customers') });
    expect((await orders({ search: 'crowded 17' })).meta.total).toBe(0);
  });

  it('of a table finds records by any field of short text', async () => {
    const find = async (table: string, search: string) => {
      const answer = await acme().platform('GET', `/tables/${table}/assets`, {
        query: { search },
        token: validator.token,
      });
      return dataOf(z.array(z.looseObject({ id: z.string() })), answer).map(({ id }) => id);
    };
    for (const text of ['tea', 'green', '87123', 'i-1']) expect(await find('dyn_item', text)).toEqual([tea]);
    expect(await find('dyn_unit_code', 'pi')).toEqual([piece]);
    expect(await find('dyn_item', 'coffee')).toEqual([]);
    const lines = () =>
      acme().platform('GET', '/tables/dyn_order_line/assets', { query: { search: 'x' }, token: validator.token });
    await expectRefused(service(), 400, lines);
  });
});

it('the counts are those of each state, at once after a change', async () => {
  const counted = z.record(z.string(), z.int());
  const counts = async () => dataOf(counted, await validator.call('GET', '/orders/counts'));
  const before = await counts();
  const id = await newOrder({});
  expect(await counts()).toEqual({ ...before, pending_validation: (before.pending_validation ?? 0) + 1 });
  await validator.call('POST', `/orders/${id}/reject`, { reasons: ['Ordered twice.'] });
  expect(await counts()).toEqual({ ...before, rejected: (before.rejected ?? 0) + 1 });
});

it('validators see which orders colleagues have open, until these show something else', async () => {
  const order_id = await newOrder({});
  const other = await addPerson(acme(), 'anna', ['validator']);
  const shown = async (person: Person, sent = {}) =>
    dataOf(z.array(z.unknown()), await person.call('PUT', '/orders/open', sent));
  expect(await shown(other, { order_id })).toEqual([]);
  expect(await shown(validator, { order_id })).toEqual([{ order_id, name: 'anna Bos' }]);
  expect(await shown(other)).toEqual([{ order_id, name: 'vera Bos' }]);
  expect(await shown(validator)).toEqual([]);
  await expectRefused(service(), 422, () => other.call('PUT', '/orders/open', { order_id: 'I-1' }));
});
