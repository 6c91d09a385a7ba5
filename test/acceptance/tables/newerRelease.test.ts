/** A newer release, with other standard tables, is started on the data of the one before. */
import { becomeNewer, RELEASES, readListed } from '../releases.js';
import type { AssetRecord, Query, TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', idle: 'dyn_stock_order' },
  env: { ...RELEASES, LOG_LEVEL: 'info' },
});

const stocked = ['A1', 'A2', 'A3'];
const items = stocked.map((external_id, n) => ({
  external_id,
  name: `Tea ${n}`,
  product_id: ['P3', null, 'p1'][n],
  grade: ['x', 'y', null][n],
}));
let unitCode: AssetRecord;
let order: AssetRecord;

beforeAll(async () => {
  for (const name of ['acme', 'idle']) {
    const tenant = run.tenant(name);
    const own = { name: 'grade', type: 'String', filterable: true, sortable: true };
    await tenant.platformData('POST', '/asset-types/dyn_item/fields', own);
    await tenant.batch('dyn_item', items);
  }
  unitCode = await run.tenant('acme').create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
  order = await run.tenant('acme').create('dyn_stock_order', { sales_order_id: 'S1' });
  await becomeNewer(run.service.dataDir);
  await run.service.restart();
});

const keys = async (tenant: TenantClient, query: Query) =>
  (await readListed(tenant, query)).map(({ external_id }) => external_id);

test.each(['acme', 'idle'])('old records show the new field as null, and keep what they had (%s)', async (name) => {
  const sorted = await readListed(run.tenant(name), { sort: 'origin_country,external_id' });
  expect(sorted).toMatchObject(items.map((item) => ({ ...item, origin_country: null, shelf_life: null })));
});

test('new records hold it; filters and sorts by it find old ones and new ones', async () => {
  const acme = run.tenant('acme');
  const fields = { external_id: 'A4', name: 'Coffee', origin_country: 'BR', shelf_life: 12, grade: 'z' };
  const coffee = await acme.create('dyn_item', fields);
  expect(coffee).toMatchObject({ ...fields, product_id: null });
  await acme.batch('dyn_item', [{ external_id: 'A2', name: 'Tea 1', origin_country: 'LK' }]);
  expect(await keys(acme, { sort: '-origin_country,external_id' })).toEqual(['A2', 'A4', 'A1', 'A3']);
  expect(await keys(acme, { 'filter[origin_country]': 'l' })).toEqual(['A2']);
  expect(await keys(acme, { 'filter[shelf_life]': '12' })).toEqual(['A4']);
  expect(await acme.get('dyn_item', coffee.id)).toEqual(coffee);
});

test('a field that was made searchable is, in records of before as well; what served before goes on', async () => {
  const idle = run.tenant('idle');
  expect(await keys(idle, { sort: 'product_id' })).toEqual(['A2', 'A3', 'A1']);
  expect(await keys(idle, { 'filter[product_id]': 'P', sort: 'external_id' })).toEqual(['A1', 'A3']);
  expect(await keys(idle, { 'filter[name]': 'tea 2' })).toEqual(['A3']);
  expect(await keys(idle, { 'filter[grade]': 'Y' })).toEqual(['A2']);
});

test('custom fields survive, and the tenant may add one more', async () => {
  const acme = run.tenant('acme');
  await acme.platformData('POST', '/asset-types/dyn_item/fields', { name: 'bay', type: 'Integer', sortable: true });
  await acme.batch('dyn_item', [{ external_id: 'A3', name: 'Tea 2', bay: 7, origin_country: 'IN' }]);
  expect(await keys(acme, { sort: '-bay,external_id' })).toEqual(['A3', 'A1', 'A2', 'A4']);
  const [third] = await readListed(acme, { 'filter[external_id]': 'A3' });
  expect(third).toMatchObject({ ...items[2], bay: 7, origin_country: 'IN', shelf_life: null });
  expect(await keys(acme, { sort: 'grade,external_id' })).toEqual(['A3', 'A1', 'A2', 'A4']);
});

test('orders and code tables get their new fields as well, and there may be new tables', async () => {
  const acme = run.tenant('acme');
  expect(await acme.get('dyn_stock_order', order.id)).toMatchObject({ sales_order_id: 'S1', route: null });
  expect(await acme.update('dyn_stock_order', order.id, { route: 'North' })).toMatchObject({ route: 'North' });
  const orders = await readListed(acme, { 'filter[route]': 'nor', sort: 'route' }, 'dyn_stock_order');
  expect(orders.map(({ id }) => id)).toEqual([order.id]);
  expect(await acme.update('dyn_unit_code', unitCode.id, { family: 'count' })).toMatchObject({ family: 'count' });
  const lane = { code: 'L1', value: 'Lane', family: 'road' };
  expect(await acme.create('dyn_lane', lane)).toMatchObject(lane);
});

test('each table that lacked an index is rebuilt, once: the next start has nothing to do', async () => {
  const rebuilt = () => run.service.log.split('\n').filter((line) => line.includes('rebuilt for this release'));
  while (rebuilt().length < 2) await new Promise((resolve) => setTimeout(resolve, 50));
  expect(rebuilt().map((line) => JSON.parse(line).tenant)).toEqual(['acme', 'idle']);
  // What was added in place and what was rebuilt are what the log makes of them.
  expect(await run.service.cli('projections', 'verify', '--projection', 'records')).toMatchObject({ code: 0 });
  await run.service.restart();
  expect(await keys(run.tenant('acme'), { sort: 'product_id,external_id' })).toEqual(['A2', 'A4', 'A3', 'A1']);
  await run.service.stop();
  expect(rebuilt()).toHaveLength(2);
  await run.service.start();
});
