/** Reads of an earlier moment: `at=` on lists, records, infos and orders, and the comparison of two moments. */
import { z } from 'zod';
import { ASSETS, PLATFORM, type TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const { acme } = useService({ tenants: { acme: 'dyn_stock_order' } });

type Method = (client: TenantClient, path: string) => ReturnType<TenantClient['send']>;
const asClient: Method = (client, path) => client.send('GET', `${ASSETS}${path}`);
const asPerson: Method = async (client, path) =>
  client.send('GET', `${PLATFORM}${path}`, { token: await client.signIn() });

const past = (path: string, ask = asClient) => ask(acme(), path);

const position = (answer: { readonly headers: { readonly [name: string]: unknown } }): number =>
  Number(answer.headers['at-position']);

it('a list, a record and the fields are shown as they were, with filter, sort, pages and cursor', async () => {
  const a = await acme().create('dyn_unit_code', { code: 'A', value: 'one' });
  await acme().create('dyn_unit_code', { code: 'B', value: 'two' });
  const then = new Date().toISOString().replace('Z', '999Z');
  await new Promise((resolve) => setTimeout(resolve, 5));
  await acme().update('dyn_unit_code', a.id, { value: 'changed' });
  await acme().create('dyn_unit_code', { code: 'C', value: 'three' });
  await acme().platformData('POST', '/asset-types/dyn_unit_code/fields', { name: 'later', type: 'String' });

  const list = await past(`/dyn_unit_code/assets?at=${then}&sort=-code&perPage=25`);
  expect(list).toMatchObject({
    status: 200,
    body: { meta: { total: 2 }, data: [{ code: 'B' }, { code: 'A', value: 'one' }] },
  });
  const at = position(list);
  expect(list.body).toMatchObject({ links: { first: expect.stringContaining(`at=${at}`) } });
  expect((await past(`/dyn_unit_code/assets?at=${at}&filter[value]=one`)).body).toMatchObject({ meta: { total: 1 } });
  expect((await past(`/dyn_unit_code/assets?at=${at}&cursor=`)).body).toMatchObject({
    data: [{ code: 'A' }, { code: 'B' }],
  });
  expect((await past(`/dyn_unit_code/assets/${a.id}?at=${then}`)).body).toMatchObject({ data: { value: 'one' } });
  expect((await acme().get('dyn_unit_code', a.id)).value).toBe('changed');
  expect((await past(`/tables/dyn_unit_code/assets?at=${at}`, asPerson)).body).toMatchObject({ meta: { total: 2 } });

  const fields = z.object({ data: z.object({ fields: z.array(z.object({ name: z.string() })) }) });
  const names = (body: unknown) => fields.parse(body).data.fields.map(({ name }) => name);
  expect(names((await past(`/dyn_unit_code/info?at=${at}`)).body)).not.toContain('later');
  expect(names((await past('/dyn_unit_code/info')).body)).toContain('later');
  expect(await past(`/dyn_unit_code/assets?at=${at}&sort=later`)).toMatchObject({ status: 400 });

  const compared = await past(`/dyn_unit_code/compare?from=${at}&to=${new Date().toISOString()}`);
  expect(compared.body).toMatchObject({
    meta: { from_position: at, next_cursor: null },
    data: [
      { id: a.id, change: 'changed', before: { value: 'one' }, after: { value: 'changed', later: null } },
      { change: 'created', before: null, after: { code: 'C' } },
    ],
  });
  expect((await past(`/tables/dyn_unit_code/compare?from=${at}&to=${at}`, asPerson)).body).toMatchObject({
    data: [],
  });
});

it('an order and its parts are shown as they were', async () => {
  const item = await acme().create('dyn_item', { external_id: 'I', name: 'Tea' });
  const order = await acme().create('dyn_stock_order', {
    customer_reference: 'first',
    lines: [{ item_id: item.id, quantity: 1 }],
  });
  const at = position(await past(`/dyn_stock_order/assets/${order.id}?at=${new Date().toISOString()}`));
  await acme().update('dyn_item', item.id, { name: 'Coffee' });
  await acme().update('dyn_stock_order', order.id, { customer_reference: 'second', lines: [] });

  expect((await past(`/dyn_stock_order/assets/${order.id}?at=${at}`)).body).toMatchObject({
    data: { customer_reference: 'first' },
  });
  // Each finds its moment within its turn; turns within turns of one kind would wait for each other.
  const both = [`/tables/dyn_item/assets?at=${at}`, `/tables/dyn_item/compare?from=${at}&to=${at}`];
  const many = await Promise.all([...both, ...both, ...both, ...both].map((path) => past(path, asPerson)));
  expect(new Set(many.map(({ status }) => status))).toEqual(new Set([200]));
  expect((await past(`/dyn_order_line/assets?at=${at}`)).body).toMatchObject({ meta: { total: 1 } });
  expect((await past('/dyn_order_line/assets')).body).toMatchObject({ meta: { total: 0 } });
  expect(await past(`/dyn_stock_order/assets/${order.id}?at=${at - 3}`)).toMatchObject({ status: 404 });
});

it.each([
  ['/dyn_item/assets?at=soon', 'at must be a time such as'],
  ['/dyn_item/assets?at=2999-01-01T00:00:00Z', 'at is in the future.'],
  ['/dyn_item/assets?at=99999999', 'at is in the future.'],
  ['/dyn_item/info?at=2001-01-01T00:00:00Z', 'at is before this tenant was made.'],
  ['/dyn_item/compare?from=2001-01-01T00:00:00Z&to=1', 'from is before this tenant was made.'],
  ['/dyn_item/compare?to=5', 'from'],
])('%s is 400', async (path, error) => {
  expect(await past(path)).toMatchObject({ status: 400, body: { error: expect.stringContaining(error) } });
});
