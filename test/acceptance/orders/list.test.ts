/** What a screen of orders to validate needs: customers, search and counts. */
import { z } from 'zod';
import { addPerson, dataOf, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import type { Fields, Query } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');
const hauler = () => run.tenant('hauler');
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
  expectRefused(run.service, 400, () => acme().platform('GET', '/orders', { query, token: validator.token }));

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
    expect(await find('de os')).toEqual([other]);
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
    await expectRefused(run.service, 400, lines);
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
  await expectRefused(run.service, 422, () => other.call('PUT', '/orders/open', { order_id: 'I-1' }));
});
