/** EventStoreDB hangs, is slow, or is cut off while the whole service works. The server is a protocol double. */
import { setTimeout as wait } from 'node:timers/promises';
import { type Service, startService } from '../acceptance/service.js';
import { ClusterDouble } from '../engines/clusterDouble.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { TcpProxy } from '../engines/tcpProxy.js';
import { scaled } from '../engines/timeScale.js';
import { Load } from './load.js';

/** How much memory may grow during an outage, in megabytes. */
const FLAT_MB = 120;
/** Limit for reading existing records on a busy machine. */
const READ_MS = scaled(5_000);
/** How soon writes succeed again after the engine, or another leader, is back; usually it takes a second. */
const BACK_MS = scaled(5_000);
const WARM_UP_MS = 500;
/** With a minute memory has time to grow. */
const HANGS_MS = Number(process.env.OUTAGE_SECONDS ?? 5) * 1_000;

let service: Service;
const acme = () => service.tenant('acme');
async function startWith(url: string): Promise<void> {
  // Appends that were sent as the server began to hang may be stored when it goes on, with their old times. Reads are
  // not affected.
  const env = { EVENTSTORE_URL: url, READ_MAX_STALENESS_SECONDS: '600' };
  service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
}
async function underLoad(): Promise<Load> {
  const { id } = await acme().create('dyn_stock_order', { notes: `known ${Date.now()}` });
  const load = new Load(service, acme(), id);
  await load.writesAreBack();
  await wait(WARM_UP_MS);
  return load;
}
function readsWentOn({ reads }: Load): void {
  expect(new Set(reads.map(({ status }) => status))).toEqual(new Set([200]));
  expect(Math.max(...reads.map(({ ms }) => ms))).toBeLessThan(READ_MS);
}
const refusedBy = ({ writes }: Load) => writes.filter(({ status }) => status !== 201).length;

describe('one server', () => {
  let double: EventStoreDouble;
  let proxy: TcpProxy;
  beforeAll(async () => {
    double = await EventStoreDouble.start();
    proxy = await TcpProxy.start(double.port);
    await startWith(`esdb://127.0.0.1:${proxy.port}?tls=false`);
  });
  afterAll(async () => {
    await service.dispose();
    await proxy.dispose();
    await double.dispose();
  });

  test.each([HANGS_MS])('hangs for %d ms: memory stays flat, reads go on, and all is well again', async (ms) => {
    const load = await underLoad();
    const before = await load.memory();
    proxy.freeze(true);
    await Promise.all([wait(ms), load.hasFailed('event_store')]);
    const grown = (await load.memory()) - before;
    proxy.freeze(false);
    expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
    await load.end();
    expect(grown).toBeLessThan(FLAT_MB);
    expect(refusedBy(load)).toBeGreaterThan(0);
    readsWentOn(load);
  });

  test('answers 200 ms late: nothing is refused', async () => {
    const load = await underLoad();
    const before = await load.memory();
    proxy.delayAnswers(200);
    await wait(3_000);
    const grown = (await load.memory()) - before;
    proxy.delayAnswers(0);
    expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
    await load.end();
    expect(grown).toBeLessThan(FLAT_MB);
    expect(refusedBy(load)).toBe(0);
    expect([...load.failedChecks]).toEqual([]);
    readsWentOn(load);
  });

  test('its answers come in halves, and connections end in the middle of one: nothing is lost', async () => {
    const load = await underLoad();
    const before = await load.memory();
    proxy.halve(true);
    for (const bytes of [10, 100, 1_000, 5_000, 20_000, 33]) {
      proxy.cutAfter(bytes);
      await wait(500);
    }
    const grown = (await load.memory()) - before;
    proxy.halve(false);
    expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
    await load.end();
    expect(grown).toBeLessThan(FLAT_MB);
    readsWentOn(load);
  });

  test('has stored nothing twice', () => {
    const stored = double.log.records.map(({ id }) => id);
    expect(new Set(stored).size).toBe(stored.length);
  });
});

describe('a cluster', () => {
  let cluster: ClusterDouble;
  beforeAll(async () => {
    cluster = await ClusterDouble.start();
    await startWith(cluster.url);
  });
  afterAll(async () => {
    await service.dispose();
    await cluster.dispose();
  });

  test('its leader hangs: reads go on, and writes are back soon after the election of another one', async () => {
    const load = await underLoad();
    const old = cluster.leader;
    old.proxy.freeze(true);
    await Promise.all([wait(2_000), load.hasFailed('event_store')]);
    cluster.elect(cluster.followers[1], [old]);
    expect(await load.writesAreBack()).toBeLessThan(BACK_MS);
    old.proxy.freeze(false);
    await load.end();
    readsWentOn(load);
    const stored = cluster.log.records.map(({ id }) => id);
    expect(new Set(stored).size).toBe(stored.length);
    expect(await service.stop()).toBe(0);
  });
});
