/** The EventStoreDB adapter on a cluster of three. Over protocol doubles, not real servers. */
import { setTimeout as wait } from 'node:timers/promises';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { events, ids } from '../../contract/eventStoreFixtures.js';
import { ClusterDouble, type ClusterNode } from '../../engines/clusterDouble.js';
import { scaled } from '../../engines/timeScale.js';
import { certificate } from '../../fixtures/certificate.js';
import { Traffic } from './traffic.js';

/** How soon all must be well again once a leader is elected. */
const SOON_MS = scaled(6_000);
/** Longer than a client that answers nothing is kept. */
const PATIENT_MS = 20_000;

const disposals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

async function startCluster(certificate?: Parameters<typeof ClusterDouble.start>[0]) {
  const cluster = await ClusterDouble.start(certificate);
  disposals.push(() => cluster.dispose());
  return cluster;
}
async function open(url: string, timeoutMs = 4_000) {
  const store = await openEventStoreDb({ url, timeoutMs });
  disposals.push(() => store.close());
  return store;
}
async function opened(timeoutMs?: number) {
  const cluster = await startCluster();
  return { cluster, store: await open(cluster.url, timeoutMs) };
}

const hangs = async ({ proxy }: ClusterNode) => proxy.freeze(true);
const dies = async ({ double }: ClusterNode) => double.kill();
const failures = [
  ['hangs', hangs],
  ['dies', dies],
] as const;

/** For a while the others name the node as before, then they elect, and then another node leads. */
async function electAnother(cluster: ClusterDouble, staleMs: number, electionMs: number): Promise<number> {
  const { leader } = cluster;
  const next = cluster.followers[1];
  await wait(staleMs);
  cluster.elect(undefined, [leader]);
  await wait(electionMs);
  cluster.elect(next, [leader]);
  return Date.now();
}

describe('under writes', () => {
  test.each(failures)('a leader %s: writes and feed are back soon after another is elected', async (_, fails) => {
    // Shorter than what follows, so that some appends are refused.
    const { cluster, store } = await opened(1_000);
    const traffic = new Traffic(store);
    await traffic.backAfter(Date.now());
    const old = cluster.leader;
    await fails(old);
    const back = await traffic.backAfter(await electAnother(cluster, 500, 1_000));
    expect(Math.max(back.writes, back.feed)).toBeLessThan(SOON_MS);
    expect(traffic.refused).toBeGreaterThan(0);
    // What was sent to the one that hung is refused by it now.
    old.proxy.freeze(false);
    await traffic.isWholeIn(cluster.log);
  });
});

test('an append that a leader stored before it hung is asked for again, and stored once', async () => {
  const { cluster, store } = await opened(PATIENT_MS);
  await store.append('order-0', events(1), 'no-stream');
  cluster.leader.proxy.freeze(true, ['answers']);
  const given = events(2);
  const appended = store.append('order-1', given, 'no-stream');
  await electAnother(cluster, 500, 500);
  expect((await appended).revision).toBe(1);
  expect(ids(await store.readStream('order-1'))).toEqual(ids(given));
  expect(cluster.leader.double.appends.count).toBe(1);
});

test.each([
  ['some of its nodes', (cluster: ClusterDouble) => `esdb://${cluster.hosts.split(',').slice(1).join(',')}?tls=false`],
  [
    'a name that stands for it',
    ({ nodes }: ClusterDouble) => `esdb+discover://localhost:${nodes[2]?.proxy.port}?tls=false`,
  ],
])('the leader is found by %s, also while another node hangs', async (_, urlOf) => {
  const cluster = await startCluster();
  cluster.nodes[1]?.proxy.freeze(true);
  const store = await open(urlOf(cluster), PATIENT_MS);
  await store.append('order-1', events(1), 'no-stream');
  const old = cluster.leader;
  old.proxy.freeze(true);
  cluster.nodes[1]?.proxy.freeze(false);
  cluster.elect(cluster.nodes[1], [old]);
  expect((await store.append('order-1', events(1), 0)).revision).toBe(1);
});

describe('with TLS', () => {
  test('an authority of its own is trusted where tlsCAFile names it, and no other', async () => {
    const [own, other] = [certificate('localhost'), certificate('other')];
    const cluster = await startCluster(own);
    const url = (file: string) => `esdb://ops:changeit@${cluster.hosts}?tlsCAFile=${encodeURIComponent(file)}`;
    const store = await open(url(own.certFile));
    await store.append('order-1', events(1), 'no-stream');
    const stranger = await open(url(other.certFile));
    await expect(stranger.head()).rejects.toThrow(/no node of the cluster says who leads; .*tlsCAFile/);
  });
});
