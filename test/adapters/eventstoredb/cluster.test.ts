/** The EventStoreDB adapter on a cluster of three. Over protocol doubles, not real servers. */
import { setTimeout as wait } from 'node:timers/promises';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { EventStoreUnavailableError } from '#app/ports/eventStore.js';
import { event, events, firstEvents, ids } from '../../contract/eventStoreFixtures.js';
import { ClusterDouble, type ClusterNode } from '../../engines/clusterDouble.js';
import { scaled } from '../../engines/timeScale.js';
import { certificate } from '../../fixtures/certificate.js';
import { Traffic } from './traffic.js';

/** How soon all must be well again once a leader is elected; usually it takes a second. */
const SOON_MS = scaled(5_000);

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

  test.each(failures)('a follower %s: nothing is refused', async (_, fails) => {
    const { cluster, store } = await opened();
    const traffic = new Traffic(store);
    await traffic.backAfter(Date.now());
    for (const follower of cluster.followers.slice(0, 1)) await fails(follower);
    await traffic.backAfter(Date.now() + 500);
    expect(traffic.refused).toBe(0);
    await traffic.isWholeIn(cluster.log);
  });

  test('a leader hands over: nothing is refused', async () => {
    const { cluster, store } = await opened();
    const traffic = new Traffic(store);
    for (const next of cluster.nodes.toReversed()) {
      await traffic.backAfter(Date.now());
      cluster.elect(next);
    }
    await traffic.backAfter(Date.now());
    expect(traffic.refused).toBe(0);
    await traffic.isWholeIn(cluster.log);
  });
});

test.each(failures)(
  'hundreds of appends in flight when the leader %s are all stored by the next, once',
  async (_, fails) => {
    const cluster = await startCluster();
    const store = await open(cluster.url, 30_000);
    await store.append('order-0', events(1), 'no-stream');
    const data = 'x'.repeat(2_000);
    const appends = Array.from({ length: 300 }, (_, n) => store.append(`order-${n + 1}`, [event(data)], 'no-stream'));
    await fails(cluster.leader);
    await electAnother(cluster, 200, 200);
    await Promise.all(appends);
    const streams = cluster.log.records.map(({ stream }) => stream).filter((stream) => stream.startsWith('order-'));
    expect(streams.length).toBe(301);
    expect(new Set(streams).size).toBe(301);
  },
);

test('it closes in time while its leader hangs', async () => {
  const { cluster, store } = await opened(1_000);
  await store.append('order-1', events(1), 'no-stream');
  const following = firstEvents(store, { after: 0 }, 2);
  await wait(200);
  cluster.leader.proxy.freeze(true);
  const appended = store.append('order-1', events(1), 0).catch((error: unknown) => error);
  await wait(100);
  const started = Date.now();
  await store.close();
  expect(Date.now() - started).toBeLessThan(scaled(10_000));
  expect(await appended).toBeInstanceOf(EventStoreUnavailableError);
  expect(await following).toHaveLength(1);
});

test('an append that a leader stored before it hung is asked for again, and stored once', async () => {
  const { cluster, store } = await opened();
  await store.append('order-0', events(1), 'no-stream');
  cluster.leader.proxy.freeze(true, ['answers']);
  const given = events(2);
  const appended = store.append('order-1', given, 'no-stream');
  await electAnother(cluster, 500, 500);
  expect((await appended).revision).toBe(1);
  expect(ids(await store.readStream('order-1'))).toEqual(ids(given));
  expect(cluster.leader.double.appends.count).toBe(1);
});

test('an idle feed notices that its leader hangs', async () => {
  const { cluster, store } = await opened();
  const [first, second] = [event(), event()];
  await store.append('order-1', [first], 'no-stream');
  const seen = firstEvents(store, { after: 0 }, 2);
  await wait(500);
  cluster.leader.proxy.freeze(true);
  const elected = await electAnother(cluster, 500, 0);
  const other = await open(cluster.url);
  await other.append('order-1', [second], 0);
  expect(ids(await seen)).toEqual([first.id, second.id]);
  expect(Date.now() - elected).toBeLessThan(SOON_MS);
});

test.each(['from the start', 'since the last call'])('where no node leads %s, nothing is written', async (since) => {
  const { cluster, store } = await opened(1_000);
  if (since === 'since the last call') await store.append('order-1', events(1), 'any');
  cluster.elect(undefined, [cluster.leader]);
  const started = Date.now();
  const error: unknown = await store.append('order-1', events(1), 'any').catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(EventStoreUnavailableError);
  expect(error).toMatchObject({ mayBeStored: false });
  await expect(store.head()).rejects.toThrow(/no (node leads|leader)/i);
  expect(Date.now() - started).toBeLessThan(scaled(15_000));
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
  const store = await open(urlOf(cluster));
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
    await expect(stranger.head()).rejects.toThrow(/no node leads, and one did not answer: .*certificate/);
  });
});
