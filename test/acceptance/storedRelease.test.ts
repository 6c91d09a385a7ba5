/**
 * The data directory of a release that told fields apart by their place, started by a newer one with other standard tables:
 * the log is read as it is, and the read models, which have another schema version, are filled from it.
 * The fixture was written by the last code of that release: six items, the last three of them with the custom field
 * `grade`, a custom table, a unit code and an order. Its keys are not kept: a start makes others.
 */
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { z } from 'zod';
import { becomeNewer, RELEASES, readListed } from './releases.js';
import { type CreatedTenant, Service } from './service.js';
import { TenantClient } from './tenant.js';

const FIXTURE = resolve('test/fixtures/dataDirectory');
let service: Service;
let acme: TenantClient;

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'stored-release-'));
  for (const name of ['events.db', 'readmodels.db', 'directory.db']) {
    await writeFile(join(dataDir, name), gunzipSync(await readFile(join(FIXTURE, `${name}.gz`))));
  }
  await becomeNewer(dataDir);
  service = new Service(dataDir, { ...RELEASES, LOG_LEVEL: 'info' });
  await service.start();
  const created: CreatedTenant = JSON.parse(await readFile(join(FIXTURE, 'tenant.json'), 'utf8'));
  acme = new TenantClient(service, created, 'dyn_stock_order');
});
afterAll(async () => {
  await service.dispose();
  expect(service.loggedErrors).toEqual([]);
});

const items = (query: { readonly [parameter: string]: string }) => readListed(acme, query);
const keys = async (query: { readonly [parameter: string]: string }) =>
  (await items(query)).map(({ external_id }) => external_id);
const ALL = ['A1', 'A2', 'A3', 'A4', 'A5', 'A6'];

test('the read models of the old release are filled from the log, and the service says so once', async () => {
  expect(await keys({ sort: 'external_id' })).toEqual(ALL);
  const told = service.log.split('\n').filter((line) => line.includes('are of another release'));
  expect(told).toHaveLength(1);
  expect(JSON.parse(told[0] ?? '')).toMatchObject({ file: join(service.dataDir, 'readmodels.db'), version: 3 });
});

test('old records are what they were, with the new fields as null', async () => {
  const found = await items({ sort: 'origin_country,external_id' });
  const grades = [null, null, null, 'g4', 'g5', 'g6'];
  expect(found).toMatchObject(
    ALL.map((external_id, n) => ({
      external_id,
      name: `Tea ${n + 1}`,
      sku: `sku-${n + 1}`,
      grade: grades[n],
      origin_country: null,
      shelf_life: null,
    })),
  );
  expect((await readListed(acme, {}, 'dyn_dock')).map(({ code }) => code)).toEqual(['D1']);
  expect(await readListed(acme, { sort: 'route' }, 'dyn_stock_order')).toMatchObject([
    { sales_order_id: 'S1', route: null },
  ]);
  expect(await readListed(acme, { sort: 'family' }, 'dyn_unit_code')).toMatchObject([{ code: 'PCE', family: null }]);
});

test('a tenant of before has no guard on clean-ups, which new ones have', async () => {
  expect(await acme.platformData('GET', '/tenant')).toMatchObject({ clean_up_guard: null });
});

test('new values are stored, sorted and filtered by, in old records and new ones', async () => {
  await acme.create('dyn_item', { external_id: 'A7', name: 'Coffee', origin_country: 'BR', grade: 'g0' });
  await acme.batch('dyn_item', [{ external_id: 'A5', name: 'Tea 5', origin_country: 'LK', shelf_life: 3 }]);
  expect(await keys({ sort: '-origin_country,external_id' })).toEqual(['A5', 'A7', 'A1', 'A2', 'A3', 'A4', 'A6']);
  expect(await keys({ 'filter[origin_country]': 'lk' })).toEqual(['A5']);
  expect(await keys({ sort: '-grade,external_id' })).toEqual(['A6', 'A5', 'A4', 'A7', 'A1', 'A2', 'A3']);
  expect(await keys({ 'filter[grade]': 'G5' })).toEqual(['A5']);
  expect(await items({ 'filter[external_id]': 'a5' })).toMatchObject([
    { name: 'Tea 5', sku: 'sku-5', grade: 'g5', shelf_life: 3 },
  ]);
});

test('the tenant may add a field, and what the release made searchable is found in old records', async () => {
  await acme.platformData('POST', '/asset-types/dyn_item/fields', { name: 'bay', type: 'Integer', sortable: true });
  await acme.batch('dyn_item', [{ external_id: 'A1', name: 'Tea 1', bay: 4 }]);
  expect(await keys({ sort: '-bay,external_id' })).toEqual(['A1', 'A2', 'A3', 'A4', 'A5', 'A6', 'A7']);
  // P8, P7, none, P5, P4, none, none.
  expect(await keys({ sort: '-product_id,external_id' })).toEqual(['A1', 'A2', 'A4', 'A5', 'A3', 'A6', 'A7']);
  expect(await keys({ 'filter[product_id]': 'p4' })).toEqual(['A5']);
  expect(await keys({ 'filter[grade]': 'g', sort: 'bay,grade' })).toEqual(['A7', 'A4', 'A5', 'A6']);
  expect(await service.cli('projections', 'verify', '--projection', 'records')).toMatchObject({ code: 0 });
});

test('what was done before is shown with the names of clients, which its events lack, also when they are removed', async () => {
  const first = (body: unknown) =>
    z.object({ data: z.tuple([z.looseObject({ actor: z.unknown() })], z.unknown()) }).parse(body).data[0];
  const [order] = (await acme.list('dyn_stock_order')).data;
  const client = acme.client.client_id;
  const shown = { actor: { kind: 'client', id: client, name: 'First API client' } };
  const told = async () => {
    const actor = encodeURIComponent('first api client');
    for (const path of [`/tables/dyn_item/operations?actor=${actor}`, `/orders/${order?.id}/history`]) {
      expect(first((await acme.platform('GET', path)).body)).toMatchObject(shown);
    }
  };
  await told();
  expect((await acme.platform('POST', '/api-clients', { body: { name: 'Next' } })).status).toBe(201);
  expect((await acme.platform('DELETE', `/api-clients/${client}`)).status).toBe(204);
  await told();
});
