/** How the EventStoreDB adapter's appends reach the server. Over protocol doubles, not real servers. */
import { randomUUID } from 'node:crypto';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { type EventStore, EventStoreUnavailableError } from '#app/ports/eventStore.js';
import { event, ids } from '../../contract/eventStoreFixtures.js';
import { DoubleLog } from '../../engines/doubleLog.js';
import { failure } from '../../engines/doubleRefusal.js';
import { EventStoreDouble } from '../../engines/eventStoreDouble.js';
import { TcpProxy } from '../../engines/tcpProxy.js';
import { scaled } from '../../engines/timeScale.js';
import { certificate } from '../../fixtures/certificate.js';

const disposals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

async function open(url: string, timeoutMs = 3_000): Promise<EventStore> {
  const store = await openEventStoreDb({ url, timeoutMs: scaled(timeoutMs) });
  disposals.push(() => store.close());
  return store;
}
async function started(double = new EventStoreDouble()): Promise<EventStoreDouble> {
  await double.start();
  disposals.push(() => double.dispose());
  return double;
}
async function opened(timeoutMs?: number) {
  const double = await started();
  return { double, store: await open(double.url, timeoutMs) };
}

const appendTo = (store: EventStore, given = [event('x'.repeat(200))]) =>
  store.append(`order-${randomUUID()}`, given, 'no-stream');
const appendMany = (store: EventStore, count: number) =>
  Promise.all(Array.from({ length: count }, () => appendTo(store)));
/** Ids of what the service stored, in the order of the log. */
const storedIds = (log: DoubleLog) => ids(log.records.filter(({ stream }) => stream.startsWith('order-')));

test('the connection is reset in the middle of appends and of answers: all is stored, once', async () => {
  const double = await started();
  const proxy = await TcpProxy.start(double.port);
  disposals.push(() => proxy.dispose());
  const store = await open(`esdb://127.0.0.1:${proxy.port}?tls=false`, 20_000);
  for (let round = 0; round < 20; round++) {
    const appended = appendMany(store, 20);
    await new Promise((resolve) => setTimeout(resolve, round % 7));
    if (round % 2 === 0) proxy.cut();
    else proxy.cutAfter(round * 20);
    await appended;
  }
  const stored = storedIds(double.log);
  expect(stored).toHaveLength(400);
  expect(new Set(stored).size).toBe(400);
});

test('what was sent and not answered may have been written, and what could not be sent was not', async () => {
  const { double, store } = await opened(1_000);
  await appendTo(store);
  const unanswered = appendMany(store, 5).catch((error: unknown) => error);
  double.freeze(true);
  expect(await unanswered).toBeInstanceOf(EventStoreUnavailableError);
  expect(await unanswered).toMatchObject({ mayBeStored: true });
  await double.kill();
  // It may go out over the old connection.
  await expect(appendTo(store)).rejects.toThrow(EventStoreUnavailableError);
  expect(await appendTo(store).catch((error: unknown) => error)).toMatchObject({ mayBeStored: false });
});

test('a user that the server does not know is refused at once, and nothing is written', async () => {
  const refusal = () => failure(status.UNAUTHENTICATED, '');
  const gossip = () => {
    throw new Error('It is no cluster.');
  };
  const double = await started(new EventStoreDouble(new DoubleLog(), { refusal, gossip }));
  const error: unknown = await appendTo(await open(double.url)).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ mayBeStored: false, message: expect.stringContaining('Check the user') });
});

test('an append of more than MaxAppendSize is refused with a sentence that names the setting, and nothing is stored', async () => {
  const { double, store } = await opened();
  double.log.maxAppendSize = 1_048_576;
  const given = Array.from({ length: 6 }, () => event('x'.repeat(200_000)));
  await expect(appendTo(store, given)).rejects.toThrow(/at most 1048576 bytes at once: .*MaxAppendSize/);
  expect(storedIds(double.log)).toEqual([]);
  await appendTo(store, given.slice(1));
  expect(storedIds(double.log)).toEqual(ids(given.slice(1)));
});

test('with TLS, an append says who it is from', async () => {
  const { key, cert, certFile } = certificate();
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const double = await started(new EventStoreDouble(undefined, undefined, ServerCredentials.createSsl(null, [pair])));
  const url = `esdb://ad%40min:p%3Aw@127.0.0.1:${double.port}?tlsCAFile=${encodeURIComponent(certFile)}`;
  await appendTo(await open(url));
  expect(double.appends.authorization).toBe(`Basic ${Buffer.from('ad@min:p:w').toString('base64')}`);
});
