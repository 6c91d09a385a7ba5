/**
 * What a node says in the seconds after a leader or a connection was lost is no proof that the log is another one. Over
 * protocol doubles, not real servers, in the dialects of two versions.
 */
import { setTimeout as wait } from 'node:timers/promises';
import { status } from '@grpc/grpc-js';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { LogReplacedError } from '#app/ports/logAnchor.js';
import { event, firstEvents, ids } from '../../contract/eventStoreFixtures.js';
import { ClusterDouble } from '../../engines/clusterDouble.js';
import { DoubleLog } from '../../engines/doubleLog.js';
import { failure, type Refusal } from '../../engines/doubleRefusal.js';
import type { Dialect } from '../../engines/doubleSubscription.js';
import { EventStoreDouble } from '../../engines/eventStoreDouble.js';
import { TcpProxy } from '../../engines/tcpProxy.js';
import { scaled } from '../../engines/timeScale.js';
import { Traffic } from './traffic.js';

/** In place of ten seconds, and of one to five. */
const [REPLACED_AFTER_MS, SHORT_MS] = [scaled(3_000), 500];

const disposals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

async function open(url: string, replacedAfterMs = REPLACED_AFTER_MS) {
  const store = await openEventStoreDb({ url, timeoutMs: 4_000, replacedAfterMs });
  disposals.push(() => store.close());
  return store;
}

async function startCluster(dialect?: Dialect) {
  const cluster = await ClusterDouble.start(undefined, dialect);
  disposals.push(() => cluster.dispose());
  return cluster;
}

async function startServer(dialect: Dialect, replacedAfterMs?: number) {
  const double = await EventStoreDouble.start(dialect);
  disposals.push(() => double.dispose());
  const proxy = await TcpProxy.start(double.port);
  disposals.push(() => proxy.dispose());
  return { double, proxy, store: await open(`esdb://127.0.0.1:${proxy.port}?tls=false`, replacedAfterMs) };
}

const DIALECTS: readonly Dialect[] = ['23.10', '25.0'];
const olderCopy = (log: DoubleLog) => log.backup().slice(0, -3);

test.each([
  ['while another leads', '23.10', (cluster: ClusterDouble) => cluster.followers[1]],
  ['during the election', '25.0', () => undefined],
] as const)('a node that is behind takes itself for the leader %s: nothing is lost (%s)', async (_, dialect, next) => {
  const cluster = await startCluster(dialect);
  const traffic = new Traffic(await open(cluster.url));
  await traffic.backAfter(Date.now());
  const { leader, followers } = cluster;
  const [third, elected] = followers;
  await leader.double.kill();
  cluster.elect(elected, [leader]);
  await traffic.backAfter(Date.now());
  // Now the elected one is lost, and the first one is there again with what it had.
  cluster.depose(leader, olderCopy(cluster.log));
  await leader.double.start();
  await elected?.double.kill();
  cluster.elect(next(cluster), elected && [elected]);
  await wait(SHORT_MS);
  cluster.depose(leader, undefined);
  cluster.elect(third, elected && [elected]);
  await traffic.backAfter(Date.now());
  await traffic.isWholeIn(cluster.log);
});

test('a place that a node refuses is looked up as long as the subscription is patient, not as long as one call is', async () => {
  const log = new DoubleLog();
  let refusals: Refusal[] = [];
  const gossip = () => {
    throw new Error('It is no cluster.');
  };
  const double = new EventStoreDouble(log, { refusal: () => refusals.shift(), gossip });
  await double.start();
  disposals.push(() => double.dispose());
  const store = await openEventStoreDb({ url: double.url, timeoutMs: scaled(300) });
  disposals.push(() => store.close());
  const { position: after } = await store.append('order-1', [event()], 'no-stream');
  const next = event();
  await store.append('order-1', [next], 0);
  // More than one call tries.
  const away = Array.from({ length: 20 }, () => failure(status.UNAVAILABLE, ''));
  refusals = [failure(status.UNKNOWN, '', {}, 'Unexpected ReadAllResult: Error'), ...away];
  expect(ids(await firstEvents(store, { after }, 1))).toEqual([next.id]);
  expect(refusals).toEqual([]);
});

test.each(DIALECTS)('a server that goes on to lack what was read has another log (%s)', async (dialect) => {
  const { double, proxy, store } = await startServer(dialect, 1_000);
  await store.append('order-1', [event()], 'no-stream');
  const copy = double.log.backup();
  const { position } = await store.append('order-1', [event()], 0);
  const ending = new AbortController();
  const reading = (async () => {
    for await (const slice of store.subscribe({ after: 0, signal: ending.signal })) {
      if (slice.position < position) continue;
      double.log.restore(copy);
      proxy.cut();
    }
  })();
  const start = performance.now();
  await expect(reading).rejects.toThrow(new RegExp(`at position ${position} was read before; .*ends with event`));
  expect(performance.now() - start).toBeGreaterThanOrEqual(1_000);
  await expect(store.append('order-2', [event()], 'no-stream')).rejects.toThrow(LogReplacedError);
  expect(double.log.backup()).toEqual(copy);
});
