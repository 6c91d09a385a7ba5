/**
 * Two processes project into the lanes of one MongoDB. One is killed, or stands still until the other has its lanes, or the
 * database goes away, each time under load. What was acknowledged is shown soon, and all of it is what the log says.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Service } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { ENGINE_START_MS, MongoDbServer, mongoDbServerMissing } from '../engines/mongodb.js';
import { scaled } from '../engines/timeScale.js';

const LANES = 4;
/** One in each lane. */
const TENANTS = ['tenant-1', 'tenant-2', 'tenant-3', 'tenant-4'];
const BATCH = 20;
/** A lease lasts 5 s. The rest is for a busy machine. */
const TAKE_OVER_MS = scaled(30_000);

describeEngine('mongodb', 'lanes on MongoDB, in two processes', mongoDbServerMissing(), () => {
  let server: MongoDbServer;
  let dataDir: string;
  let api: Service;
  let projectors: readonly [Service, Service];

  beforeAll(async () => {
    server = await MongoDbServer.start();
    dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
    const env = { MONGODB_URL: server.url, PROJECTION_LANES: String(LANES) };
    const projector = () => new Service(dataDir, { ...env, LOG_LEVEL: 'info' }, ['--role', 'projector']);
    api = new Service(dataDir, env, ['--role', 'api']);
    projectors = [projector(), projector()];
    await api.takeTenants(Object.fromEntries(TENANTS.map((name) => [name, 'dyn_stock_order'])));
    await Promise.all([api, ...projectors].map((each) => each.start()));
    for (const tenant of TENANTS) await api.tenant(tenant).token();
  }, ENGINE_START_MS);
  afterAll(async () => {
    await Promise.all([api, ...projectors].map((each) => each?.stop()));
    await server?.dispose();
    await rm(dataDir, { recursive: true, force: true });
  });

  /** The lanes that the process said it has, last. */
  const lanesOf = (projector: Service): readonly number[] => {
    const said = projector.log
      .split('\n')
      .flatMap((line) => (line.includes('"projectors":') ? [JSON.parse(line)] : []));
    return said.at(-1)?.lanes ?? [];
  };
  const areSpread = async (): Promise<void> => {
    const all = () => projectors.map(lanesOf);
    while (all().some(({ length }) => length !== LANES / 2) || new Set(all().flat()).size < LANES) await wait(50);
  };

  const first = () => projectors[0];
  const second = () => projectors[1];
  const acknowledged = new Map(TENANTS.map((name) => [name, 0]));
  let written = 0;
  /** Writes batches to a tenant until it is told to end. */
  async function writeTo(tenant: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const round = written++;
      const items = Array.from({ length: BATCH }, (_, n) => ({
        external_id: `${round}-${n}`,
        name: 'Tea',
        _batch_id: 'one',
      }));
      const answer = await api.tenant(tenant).postBatch('dyn_item', { items });
      if (answer.status < 300) acknowledged.set(tenant, (acknowledged.get(tenant) ?? 0) + BATCH);
      else expect(answer.status).toBe(503);
    }
  }
  async function underLoad(disturb: () => Promise<void>): Promise<void> {
    const ending = new AbortController();
    const writing = Promise.all(TENANTS.map((tenant) => writeTo(tenant, ending.signal)));
    await Promise.race([disturb(), writing]).finally(() => ending.abort());
    await writing;
  }
  const shown = async (tenant: string): Promise<number> =>
    api
      .tenant(tenant)
      .list('dyn_item', { perPage: '1' })
      .then(
        ({ meta }) => meta.total,
        () => -1,
      );
  /** All that is acknowledged until now. */
  const areShown = async (): Promise<void> => {
    for (const [tenant, atLeast] of acknowledged) while ((await shown(tenant)) < atLeast) await wait(50);
  };
  /** More of each tenant than now. */
  const goOn = async (): Promise<void> => {
    const before = await Promise.all(TENANTS.map(shown));
    for (const [n, tenant] of TENANTS.entries()) while ((await shown(tenant)) <= (before[n] ?? 0)) await wait(50);
  };
  const isProven = async (): Promise<void> => {
    await areShown();
    const { code, stdout } = await api.cli('projections', 'verify');
    expect({ code, stdout: code === 0 ? '' : stdout }).toEqual({ code: 0, stdout: '' });
    for (const each of await Promise.all(TENANTS.map(shown))) expect(each % BATCH).toBe(0);
  };

  it('they have as many each, and the tenants of both are shown', async () => {
    await areSpread();
    await underLoad(goOn);
    const { stdout } = await api.cli('projections', 'list', '--json');
    expect(JSON.parse(stdout)).toMatchObject(Array(4).fill({ head: expect.any(Number), parked: [] }));
  });

  it('one is killed, and the tenants of its lanes go on in the other', async () => {
    await areSpread();
    await underLoad(async () => {
      await wait(300);
      await first().kill();
      const killedAt = performance.now();
      await goOn();
      expect(performance.now() - killedAt).toBeLessThan(TAKE_OVER_MS);
      expect(lanesOf(second())).toHaveLength(LANES);
    });
    await isProven();
    await first().start();
  });

  it('one stands still until the other has its lanes: then it does no harm to what that one has written', async () => {
    await areSpread();
    await underLoad(async () => {
      await wait(300);
      process.kill(second().pid, 'SIGSTOP');
      try {
        await goOn();
        expect(lanesOf(first())).toHaveLength(LANES);
      } finally {
        process.kill(second().pid, 'SIGCONT');
      }
      await areSpread();
      await goOn();
    });
    await isProven();
  });

  it('an operator lists, proves and rebuilds them, of one tenant and of all', async () => {
    await areSpread();
    await areShown();
    const before = await Promise.all(TENANTS.map(shown));
    for (const args of [
      ['projections', 'verify', '--json'],
      ['projections', 'verify', '--tenant', 'tenant-1', '--json'],
      ['projections', 'rebuild', '--tenant', 'tenant-2', '--json'],
      ['doctor', '--json'],
    ]) {
      const { code, stdout, stderr } = await api.cli(...args);
      expect([args.join(' '), code, code === 0 ? '' : stdout + stderr]).toEqual([args.join(' '), 0, '']);
    }
    const rebuilt = JSON.parse((await api.cli('projections', 'rebuild', '--json')).stdout);
    expect(rebuilt).toHaveLength(4);
    expect(rebuilt[0].records).toBeGreaterThanOrEqual(before.reduce((sum, each) => sum + each));
    const { stdout } = await api.cli('projections', 'list', '--json');
    expect(JSON.parse(stdout)).toMatchObject(Array(4).fill({ behind: 0, parked: [] }));
    expect(await Promise.all(TENANTS.map(shown))).toEqual(before);
  });

  it('the database is killed, and all lanes go on when it is back', async () => {
    await underLoad(async () => {
      await wait(300);
      await server.kill();
      await wait(500);
      await server.start();
      await goOn();
    });
    await isProven();
    // Where the server takes longer to start than a request waits for it, requests say so.
    expect(api.loggedErrors.filter((line) => !line.includes('MongoDB cannot be reached'))).toEqual([]);
  });
});
