/**
 * Two lanes: each tenant's read models are in the file of its lane and nowhere else, also after kills under load, where a file
 * is lost, and for the commands of an operator. What was made with one lane serves on with one.
 */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { Service, startService } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';

/** Of two lanes the second has `globex`, the first the others. */
const TENANTS = ['globex', 'acme', 'umbrella'];
const FILES = ['readmodels.db', 'readmodels-2.db'] as const;
const TWO = { PROJECTION_LANES: '2' };
const KILLS = 5;
const BATCH = 300;

let service: Service;
beforeAll(async () => {
  const tenants = Object.fromEntries(TENANTS.map((name) => [name, 'dyn_stock_order' as const]));
  service = await startService({ tenants, env: TWO });
  // A kill must not meet the request for one.
  for (const tenant of TENANTS) await service.tenant(tenant).token();
});
afterAll(() => service.dispose());

const file = (index: number): string => join(service.dataDir, FILES[index] ?? '');
const total = async (tenant: string): Promise<number> =>
  (await service.tenant(tenant).list('dyn_item', { perPage: '1' })).meta.total;

function tenantsIn(index: number): readonly unknown[] {
  const db = openSqlite(file(index), { readonly: true });
  const names = db.prepare('SELECT DISTINCT tenant FROM catalog ORDER BY tenant').pluck().all();
  db.close();
  return names;
}

const items = (round: number) =>
  Array.from({ length: BATCH }, (_, n) => ({ external_id: `${round}-${n}`, name: 'Tea', _batch_id: 'one' }));

it(`shows all that was acknowledged of each tenant over ${KILLS} kills under load`, async () => {
  const atLeast = new Map<string, number>();
  for (let round = 0; round < KILLS; round++) {
    const writing = TENANTS.map(async (tenant) => {
      const answer = await service
        .tenant(tenant)
        .postBatch('dyn_item', { items: items(round) })
        .catch(() => undefined);
      if (answer !== undefined && answer.status < 300) atLeast.set(tenant, (atLeast.get(tenant) ?? 0) + BATCH);
    });
    await wait(round * 60);
    await service.kill();
    await Promise.all(writing);
    await service.start();
    for (const tenant of TENANTS) {
      const shown = await total(tenant);
      expect(shown % BATCH).toBe(0);
      expect(shown).toBeGreaterThanOrEqual(atLeast.get(tenant) ?? 0);
      atLeast.set(tenant, shown);
    }
  }
  expect([tenantsIn(0), tenantsIn(1)]).toEqual([['acme', 'umbrella'], ['globex']]);
});

it('answers a write when its lane shows it, and lists of all lanes', async () => {
  for (const tenant of TENANTS) {
    const before = await total(tenant);
    await service.tenant(tenant).create('dyn_item', { external_id: 'single', name: 'Tea' });
    expect(await total(tenant)).toBe(before + 1);
  }
});

it('lists, proves and rebuilds them, of one tenant and of all', async () => {
  for (const args of [
    ['projections', 'verify', '--json'],
    ['projections', 'verify', '--tenant', 'acme', '--json'],
    ['projections', 'rebuild', '--tenant', 'globex', '--json'],
    ['projections', 'list', '--json'],
    ['doctor', '--json'],
  ]) {
    const { code, stdout, stderr } = await service.cli(...args);
    expect([args.join(' '), code, code === 0 ? '' : stdout + stderr]).toEqual([args.join(' '), 0, '']);
  }
  const rebuilt = JSON.parse((await service.cli('projections', 'rebuild', '--json')).stdout);
  expect(rebuilt.map(({ projection }: { readonly projection: string }) => projection)).toHaveLength(3);
  expect(rebuilt[0].records).toBeGreaterThanOrEqual((await Promise.all(TENANTS.map(total))).reduce((a, b) => a + b));
  const { stdout } = await service.cli('projections', 'list', '--json');
  expect(JSON.parse(stdout)).toMatchObject(Array(3).fill({ behind: 0, parked: [] }));
  expect([tenantsIn(0), tenantsIn(1)]).toEqual([['acme', 'umbrella'], ['globex']]);
});

it('builds a file that is lost again, and refuses to start where nobody knows how many lanes there are', async () => {
  const before = await Promise.all(TENANTS.map(total));
  await service.stop();
  for (const suffix of ['', '-wal', '-shm']) rmSync(`${file(1)}${suffix}`, { force: true });
  await service.start();
  const shown = async () => Promise.all(TENANTS.map((tenant) => total(tenant).catch(() => -1)));
  while ((await shown()).some((count) => count < 0)) await wait(100);
  expect(await shown()).toEqual(before);

  await service.stop();
  const number = join(service.dataDir, 'projection-lanes');
  rmSync(number);
  await expect(service.start()).rejects.toThrow('projection-lanes');
  for (const name of FILES)
    for (const suffix of ['', '-wal', '-shm']) rmSync(`${join(service.dataDir, name)}${suffix}`, { force: true });
  await service.start();
  while ((await shown()).some((count) => count < 0)) await wait(100);
  expect(await shown()).toEqual(before);
});

it('rebuilds the files where another rule had assigned the tenants to lanes', async () => {
  const before = await Promise.all(TENANTS.map(total));
  await service.stop();
  writeFileSync(join(service.dataDir, 'projection-lanes'), '2\n');
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(`${file(0)}${suffix}`)) renameSync(`${file(0)}${suffix}`, `${file(0)}${suffix}.was`);
    if (existsSync(`${file(1)}${suffix}`)) renameSync(`${file(1)}${suffix}`, `${file(0)}${suffix}`);
    if (existsSync(`${file(0)}${suffix}.was`)) renameSync(`${file(0)}${suffix}.was`, `${file(1)}${suffix}`);
  }
  await service.start();
  const shown = async () => Promise.all(TENANTS.map((tenant) => total(tenant).catch(() => -1)));
  while ((await shown()).some((count) => count < 0)) await wait(100);
  expect(await shown()).toEqual(before);
  expect([tenantsIn(0), tenantsIn(1)]).toEqual([['acme', 'umbrella'], ['globex']]);
});

it('makes as many lanes as there are processors, two at most, where nobody has set how many', async () => {
  const fresh = await startService({ tenants: { acme: 'dyn_stock_order' } });
  await fresh.stop();
  const files = readdirSync(fresh.dataDir).filter((name) => /^readmodels(-\d+)?\.db$/.test(name));
  expect(files).toHaveLength(Math.min(availableParallelism(), 2));
  await fresh.dispose();
});

it('keeps one lane where the read models were made with one, whatever the setting says', async () => {
  const earlier = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { PROJECTION_LANES: '1' } });
  await earlier.tenant('acme').create('dyn_item', { external_id: 'before', name: 'Tea' });
  const { admin, client, orderModel } = earlier.tenant('acme');
  await earlier.stop();
  const later = new Service(earlier.dataDir, TWO);
  await later.start();
  const acme = new TenantClient(later, { tenant: 'acme', admin, client }, orderModel);
  expect((await acme.list('dyn_item', {})).data).toMatchObject([{ external_id: 'before' }]);
  expect(existsSync(join(later.dataDir, 'readmodels-2.db'))).toBe(false);
  const { code } = await later.cli('projections', 'verify', '--json');
  expect(code).toBe(0);
  await later.dispose();
});
