/** What a screen of orders to validate needs: summaries, search, counts, and one save of an order with its lines. */
import { z } from 'zod';
import { addPerson, dataOf, type Person } from '../people.js';
import { expectRefused } from '../refusals.js';
import type { Fields, Query } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');
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

const UNKNOWN = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';
const line = (more: object = {}) => ({ item_id: tea, unit_code_id: piece, quantity: 3, ...more });
const newOrder = async (fields: Fields): Promise<string> => (await acme().create('dyn_stock_order', fields)).id;

const listed = z.object({
  data: z.array(z.looseObject({ id: z.string(), summary: z.unknown().optional() })),
  links: z.looseObject({ next: z.string().nullable() }),
  meta: z.looseObject({ total: z.int() }),
});
const orders = async (query: Query | string, tenant = acme(), { token }: Pick<Person, 'token'> = validator) => {
  const answer = await tenant.platform('GET', '/orders', { query, token });
  expect(answer).toMatchObject({ status: 200 });
  return listed.parse(answer.body);
};
const refused = (query: string) =>
  expectRefused(run.service, 400, () => acme().platform('GET', '/orders', { query, token: validator.token }));

describe('include=summary', () => {
  it('shows the customer, and as many lines and problems as the order itself has, in both queues', async () => {
    const delivered = { buyer_customer_party_id: 'C-1', delivery_date: '2026-12-01' };
    const sound = await newOrder({ customer_reference: 'S 1', ...delivered, lines: [line()] });
    const wrong = [line({ quantity: 0 }), line({ item_id: UNKNOWN }), line()];
    const unsound = await newOrder({ customer_reference: 'S 2', buyer_customer_party_id: 'none', lines: wrong });
    const empty = await newOrder({ customer_reference: 'S 3' });
    const page = await orders({ include: 'summary', 'filter[customer_reference]': 'S ' });
    expect(page.data.map(({ id, summary }) => ({ id, summary }))).toEqual([
      { id: sound, summary: { customer: 'Bakkerij De Molen', lines: 1, problems: 0, first_problem: null } },
      { id: unsound, summary: { customer: null, lines: 3, problems: 4, first_problem: expect.any(String) } },
      { id: empty, summary: { customer: null, lines: 0, problems: 3, first_problem: expect.any(String) } },
    ]);
    const problem = z.looseObject({ message: z.string() });
    const { problems } = dataOf(
      z.looseObject({ problems: z.array(problem) }),
      await validator.call('GET', `/orders/${unsound}`),
    );
    expect(page.data[1]?.summary).toMatchObject({ problems: problems.length, first_problem: problems[0]?.message });
    await validator.call('POST', `/orders/${sound}/reject`, { reasons: ['Ordered twice.'] });
    const archive = await orders({ include: 'summary', queue: 'archive', search: 'S 1' });
    expect(archive.data).toMatchObject([{ id: sound, summary: { customer: 'Bakkerij De Molen', lines: 1 } }]);
    expect((await orders({ 'filter[customer_reference]': 'S 2' })).data[0]).not.toHaveProperty('summary');
  });

  it('with problems=only lists and counts those with problems alone, page by page', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 130; n++) {
      // No delivery date, no line, a line without item or unit: each is a problem by itself.
      const delivery = n % 4 === 0 && n % 3 === 0 ? {} : { delivery_date: '2026-12-01' };
      const lines = n % 4 === 0 && n % 3 === 1 ? [] : [line(n % 4 === 0 && n % 3 === 2 ? { item_id: null } : {})];
      const head = { customer_reference: `Q ${n}`, buyer_customer_party_id: 'C-1', ...delivery };
      const id = await newOrder({ ...head, lines });
      if (n % 4 === 0) ids.push(id);
    }
    const query = { include: 'summary', problems: 'only', 'filter[customer_reference]': 'Q ' };
    const first = await orders(query);
    expect(first.meta.total).toBe(33);
    expect(first.data.map(({ id }) => id)).toEqual(ids.slice(0, 25));
    const rest = await orders(new URL(first.links.next ?? '').search.slice(1));
    expect(rest.data.map(({ id }) => id)).toEqual(ids.slice(25));
    expect(rest.data[0]).toMatchObject({ summary: { problems: 1 } });
  });

  it.each(['include=lines', 'include=summary&perPage=1000', 'problems=only', 'include=summary&problems=no'])(
    '%s is 400',
    (query) => refused(query),
  );
});

describe('search', () => {
  it('finds orders by reference, sales order id, customer and id, in any case, within the queue and the filters', async () => {
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
    expect(await find(two.slice(0, 30))).toContain(two);
    expect(await find(two.slice(0, 5))).toEqual([]);
    expect(await find('nowhere')).toEqual([]);
    expect(await find('molen', { queue: 'archive' })).toEqual([]);
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
  const counted = z.record(z.string(), z.record(z.string(), z.int()));
  const counts = async () => dataOf(counted, await validator.call('GET', '/orders/counts'));
  const before = await counts();
  expect(Object.keys(before.to_validate ?? {})).toEqual([
    'pending_validation',
    'saved',
    'validated',
    'submit_failed',
    'failed',
  ]);
  const id = await newOrder({});
  const created = (before.to_validate?.pending_validation ?? 0) + 1;
  expect(await counts()).toMatchObject({ to_validate: { pending_validation: created }, archive: before.archive });
  await validator.call('POST', `/orders/${id}/reject`, { reasons: ['Ordered twice.'] });
  expect(await counts()).toEqual({
    to_validate: before.to_validate,
    archive: { ...before.archive, rejected: (before.archive?.rejected ?? 0) + 1 },
  });
});
