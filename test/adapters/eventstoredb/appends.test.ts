/** How the EventStoreDB adapter's appends reach the server. Over protocol doubles, not real servers. */
import { randomUUID } from 'node:crypto';
import { ServerCredentials, status } from '@grpc/grpc-js';
import { openEventStoreDb } from '#app/adapters/eventstore/eventstoredb/store.js';
import { type EventStore, EventStoreUnavailableError } from '#app/ports/eventStore.js';
import { event, events, ids } from '../../contract/eventStoreFixtures.js';
import { DoubleLog } from '../../engines/doubleLog.js';
import { failure } from '../../engines/doubleRefusal.js';
import { EventStoreDouble } from '../../engines/eventStoreDouble.js';
import { TcpProxy } from '../../engines/tcpProxy.js';
import { certificate } from '../../fixtures/certificate.js';

const disposals: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const dispose of disposals.splice(0).reverse()) await dispose();
});

async function open(url: string, timeoutMs = 3_000): Promise<EventStore> {
  const store = await openEventStoreDb({ url, timeoutMs });
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

const small = () => [event('x'.repeat(200))];
const large = () => [event('x'.repeat(200_000))];
const appendTo = (store: EventStore, given = small()) => store.append(`order-${randomUUID()}`, given, 'no-stream');
const appendMany = (store: EventStore, count: number) =>
  Promise.all(Array.from({ length: count }, () => appendTo(store)));
/** Ids of what the service stored, in the order of the log. */
const storedIds = (log: DoubleLog) => ids(log.records.filter(({ stream }) => stream.startsWith('order-')));

test('small appends one after the other share one call, many at once a few, and a large one has its own', async () => {
  const { double, store } = await opened();
  for (let n = 0; n < 3; n++) await appendTo(store);
  const { openCalls } = double.appends;
  await appendMany(store, 200);
  await appendMany(store, 200);
  const openCallsOfMany = double.appends.openCalls;
  await appendTo(store, large());
  expect(openCalls).toBe(1);
  expect(openCallsOfMany).toBeGreaterThan(1);
  expect(openCallsOfMany).toBeLessThanOrEqual(16);
  expect(double.appends.openCalls).toBe(openCallsOfMany);
  expect(storedIds(double.log)).toHaveLength(404);
});

test('each of many at once gets its own answer, those among them that are refused as well', async () => {
  const { store } = await opened();
  await store.append('order-taken', events(3), 'no-stream');
  const outcomes = await Promise.allSettled(
    Array.from({ length: 60 }, (_, n) =>
      store.append(n % 2 === 0 ? 'order-taken' : `order-${n}`, events(n), 'no-stream'),
    ),
  );
  for (const [n, outcome] of outcomes.entries()) {
    if (n === 0 || n % 2 === 1) continue;
    expect(outcome).toMatchObject({ status: 'rejected', reason: { name: 'WrongExpectedRevisionError', actual: 2 } });
  }
  for (const [n, outcome] of outcomes.entries()) {
    if (n % 2 === 1) expect(outcome).toMatchObject({ status: 'fulfilled', value: { revision: n - 1 } });
  }
});

test.each(['quietly', 'with an error'] as const)('the server ends the call %s: all is stored, once', async (how) => {
  const { double, store } = await opened();
  for (let round = 0; round < 20; round++) {
    const appended = appendMany(store, 20);
    await new Promise((resolve) => setTimeout(resolve, round % 5));
    double.appends.endCalls(how);
    await appended;
  }
  const stored = storedIds(double.log);
  expect(stored).toHaveLength(400);
  expect(new Set(stored).size).toBe(400);
});

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

test('a server that hangs and answers again is written to again', async () => {
  const { double, store } = await opened(500);
  await appendTo(store);
  for (let round = 0; round < 3; round++) {
    double.freeze(true);
    for (const { status: outcome } of await Promise.allSettled(Array.from({ length: 30 }, () => appendTo(store)))) {
      expect(outcome).toBe('rejected');
    }
    double.freeze(false);
    await appendTo(store);
  }
});

test('a server that knows no such call gets each append in a call of its own', async () => {
  const { double, store } = await opened();
  double.appends.knowsOpenCalls = false;
  await appendMany(store, 50);
  await store.append('order-1', events(2), 'no-stream');
  await expect(store.append('order-1', events(2), 'no-stream')).rejects.toMatchObject({ actual: 1 });
  expect(double.appends.openCalls).toBe(0);
  expect(storedIds(double.log)).toHaveLength(52);
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

test.each(['small', 'large'])('with TLS, a %s append says who it is from', async (size) => {
  const { key, cert, certFile } = certificate();
  const pair = { cert_chain: Buffer.from(cert), private_key: Buffer.from(key) };
  const double = await started(new EventStoreDouble(undefined, undefined, ServerCredentials.createSsl(null, [pair])));
  const url = `esdb://ad%40min:p%3Aw@127.0.0.1:${double.port}?tlsCAFile=${encodeURIComponent(certFile)}`;
  await appendTo(await open(url), size === 'small' ? small() : large());
  expect(double.appends.authorization).toBe(`Basic ${Buffer.from('ad@min:p:w').toString('base64')}`);
});
