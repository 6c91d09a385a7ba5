/** An order of hundreds of lines: what is read of its stream for each of its changes, and for each of its deliveries. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { OrderReader } from '#app/commands/orders/loadOrder.js';
import type { OrderEvent } from '#app/domain/order/events.js';
import { orderStream } from '#app/domain/streams.js';
import { type EventStore, storeWith } from '#app/ports/eventStore.js';
import { metadata } from '../contract/eventStoreFixtures.js';

const LINES = 300;
const STREAM = orderStream('acme', 'one');
const status = { from: 'validated', to: 'validated' } as const;
const changed = (from: number, to: number): OrderEvent => ({
  type: 'OrderPartChanged',
  data: { table: 'dyn_order_line', id: 'line-7', changes: { quantity: { from, to } }, status },
});

let directory: string;
let store: EventStore;
let orders: OrderReader;
let read = 0;

const append = (...events: readonly OrderEvent[]) =>
  store.append(
    STREAM,
    events.map((event) => ({ ...event, id: randomUUID(), metadata })),
    'any',
  );

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'orders-'));
  const opened = await openSqliteEventStore({ file: join(directory, 'events.db') });
  store = storeWith(opened, {
    readSlice: async (...asked) => {
      const slice = await opened.readSlice(...asked);
      read += slice.events.length;
      return slice;
    },
  });
  orders = new OrderReader(store);
  const lines = Array.from({ length: LINES }, (_, n): OrderEvent => {
    const data = { table: 'dyn_order_line', id: `line-${n}`, fields: { quantity: 1 }, status };
    return { type: 'OrderPartAdded', data };
  });
  await append({ type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'validated' } }, ...lines);
});
afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true, force: true });
});

test('what is new is read, whoever wrote it, and nothing else', async () => {
  expect((await orders.load('acme', 'one'))?.state.parts.size).toBe(LINES);
  await append(changed(1, 2));
  await append(changed(2, 3));
  read = 0;
  for (let times = 0; times < 2; times += 1) {
    const order = await orders.load('acme', 'one');
    expect([order?.revision, order?.state.parts.get('line-7')?.fields.quantity]).toEqual([LINES + 2, 3]);
  }
  expect(read).toBe(2);
});

test('deliveries have the order as it was after each event, in whatever order they ask', async () => {
  await append(changed(1, 2), changed(2, 3));
  const at = async (revision: number) =>
    (await orders.loadAt('acme', 'one', revision))?.state.parts.get('line-7')?.fields.quantity;
  expect(await at(LINES)).toBe(1);
  read = 0;
  expect([await at(LINES + 1), await at(LINES + 2), await at(LINES + 1)]).toEqual([2, 3, 2]);
  read = 0;
  // One that is tried again does not make the next ones read everything.
  expect(await at(LINES + 2)).toBe(3);
  expect(read).toBe(0);
});

test('an order that nobody made is none', async () => {
  expect(await orders.load('acme', 'two')).toBeUndefined();
  expect(await orders.loadAt('acme', 'two', 3)).toBeUndefined();
});
