/**
 * Embedded read models of all tenants are in one file, which is filled again where it is lost. Earlier ones were in a file for
 * each lane, which had some of the tenants.
 */
import { copyFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { Service, startService } from '../acceptance/service.js';
import { seenBy } from './seenBy.js';

/** Of two lanes the second had `globex`, the first the others. */
const TENANTS = ['globex', 'acme', 'umbrella'];
/** As an installation may have set it that had lanes. */
const TWO = { PROJECTION_LANES: '2' };

let service: Service;
beforeAll(async () => {
  const tenants = Object.fromEntries(TENANTS.map((name) => [name, 'dyn_stock_order' as const]));
  service = await startService({ tenants, env: TWO });
  const items = Array.from({ length: 300 }, (_, n) => ({ external_id: `${n}`, name: 'Tea' }));
  for (const tenant of TENANTS) await service.tenant(tenant).batch('dyn_item', items);
});
afterAll(() => service.dispose());

const at = (name: string): string => join(service.dataDir, name);
const FILE = 'readmodels.db';
const WITH_SIDE_FILES = ['', '-wal', '-shm'];
const total = async (tenant: string): Promise<number> =>
  (await service.tenant(tenant).list('dyn_item', { perPage: '1' })).meta.total;

/** The totals of all tenants, -1 for each that is refused. */
const shown = (by = service): Promise<readonly number[]> =>
  Promise.all(
    TENANTS.map(async (name) => {
      const { status, body } = await seenBy(by, service.tenant(name)).getList('dyn_item', { perPage: '1' });
      if (status === 200) return Number(Object(Object(body).meta).total);
      expect(status).toBe(503);
      return -1;
    }),
  );

async function untilShown(by = service): Promise<readonly number[]> {
  for (;;) {
    const counts = await shown(by);
    if (!counts.includes(-1)) return counts;
    await wait(100);
  }
}

function tenantsInFile(): readonly unknown[] {
  const db = openSqlite(at(FILE), { readonly: true });
  const names = db.prepare('SELECT DISTINCT tenant FROM catalog ORDER BY tenant').pluck().all();
  db.close();
  return names;
}

/** Those of read models, and of lanes. */
const filesOfReadModels = (): readonly string[] =>
  readdirSync(service.dataDir).filter((name) => /^readmodels.*\.db$|lanes/.test(name));

it('says at each start that PROJECTION_LANES has no effect', async () => {
  const told = service.log.split('\n').filter((line) => line.includes('PROJECTION_LANES has no effect'));
  expect(told).toHaveLength(1);
});

it('fills a file again that is lost', async () => {
  const before = await Promise.all(TENANTS.map(total));
  await service.stop();
  for (const end of WITH_SIDE_FILES) rmSync(at(FILE + end), { force: true });
  await service.start();
  expect(await untilShown()).toEqual(before);
});

describe('the data directory of an earlier release, with two lanes', () => {
  const told = (): readonly string[] => service.log.split('\n').filter((line) => line.includes('of another release'));

  /** Files as that release left them: each has the tenants of its lane, and has them up to the end of the log. */
  function splitInLanes(version: number | undefined): void {
    copyFileSync(at(FILE), at('readmodels-2.db'));
    for (const [name, others] of [
      [FILE, "= 'globex'"],
      ['readmodels-2.db', "<> 'globex'"],
    ] as const) {
      const db = openSqlite(at(name));
      db.exec(`DELETE FROM catalog WHERE tenant ${others}`);
      if (version !== undefined) db.pragma(`user_version = ${version}`);
      db.close();
    }
    writeFileSync(at('projection-lanes'), '2 2\n', { mode: 0o600 });
  }

  it.each([
    ['of another schema version', 15],
    ['of the same one', undefined],
  ])('%s, is filled from the log, which the service says once', async (_, version) => {
    const before = await Promise.all(TENANTS.map(total));
    await service.stop();
    splitInLanes(version);
    const lines = told().length;
    await service.start();
    expect(await untilShown()).toEqual(before);
    expect(tenantsInFile()).toEqual([...TENANTS].sort());
    expect(filesOfReadModels()).toEqual([FILE]);
    expect(told().slice(lines)).toHaveLength(1);
    expect(await service.cli('projections', 'verify')).toMatchObject({ code: 0 });
    await service.restart('stop');
    expect(await shown()).toEqual(before);
    expect(told().slice(lines)).toHaveLength(1);
  });

  it('is read by a process without the role projector only when another one has filled it', async () => {
    const before = await Promise.all(TENANTS.map(total));
    await service.stop();
    splitInLanes(15);
    const [api, projector] = ['api', 'projector'].map((role) => new Service(service.dataDir, {}, ['--role', role]));
    if (api === undefined || projector === undefined) throw new Error('Two services are needed.');
    try {
      await api.start();
      expect(await shown(api)).toEqual(TENANTS.map(() => -1));
      await projector.start();
      expect(await untilShown(api)).toEqual(before);
    } finally {
      await Promise.all([api.kill(), projector.kill()]);
      await service.start();
    }
  });

  it('is filled by a rebuild without a service', async () => {
    const before = await Promise.all(TENANTS.map(total));
    await service.stop();
    splitInLanes(undefined);
    const { code, stdout } = await service.cli('projections', 'rebuild');
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringContaining('was of another release: it') });
    expect(filesOfReadModels()).toEqual([FILE]);
    await service.start();
    expect(await untilShown()).toEqual(before);
  });
});
