/** An order of hundreds of lines: what is read of its stream for each of its changes, and for each of its deliveries. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { OrderReader } from '#app/commands/orders/loadOrder.js';
import { KEPT_ORDERS_CHARACTERS } from '#app/domain/limits.js';
import type { OrderEvent } from '#app/domain/order/events.js';
import { orderStream } from '#app/domain/streams.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { metadata } from '../contract/eventStoreFixtures.js';

const TENANT = 'acme';
const LINES = 300;
const status = { from: 'validated', to: 'validated' } as const;

let directory: string;
let store: EventStore;
let orders: OrderReader;
let orderId: string;
let read: number;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'orders-'));
});
afterAll(() => rm(directory, { recursive: true, force: true }));

beforeEach(async () => {
  const opened = await openSqliteEventStore({ file: join(directory, `${randomUUID()}.db`) });
  store = Object.assign(Object.create(opened) as EventStore, {
    append: opened.append.bind(opened),
    close: opened.close.bind(opened),
    readSlice: async (...args: Parameters<EventStore['readSlice']>) => {
      const slice = await opened.readSlice(...args);
      read += slice.events.length;
      return slice;
    },
  });
  orders = new OrderReader(store);
  orderId = randomUUID();
  const lines = Array.from({ length: LINES }, (_, index): OrderEvent => {
    return {
      type: 'OrderPartAdded',
      data: { table: 'dyn_order_line', id: `line-${index}`, fields: { quantity: 1 }, status },
    };
  });
  await append({ type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'validated' } }, ...lines);
  read = 0;
});
afterEach(() => store.close());

async function append(...events: readonly OrderEvent[]): Promise<void> {
  const toStore = events.map((event) => ({ ...event, id: randomUUID(), metadata: { ...metadata, tenant: TENANT } }));
  await store.append(orderStream(TENANT, orderId), toStore, 'any');
}

const quantity = (from: number, to: number): OrderEvent => ({
  type: 'OrderPartChanged',
  data: { table: 'dyn_order_line', id: 'line-7', changes: { quantity: { from, to } }, status },
});
const approver = { id: 7, first_name: 'Eva', last_name: 'Smit', locale: 'nl', email: 'eva@acme.example' };
const approved: OrderEvent = {
  type: 'OrderApproved',
  data: {
    status: { from: 'validated', to: 'submitted' },
    approvedAt: '2026-11-21T03:12:00.000000Z',
    approver,
    snapshot: { table: 'dyn_stock_order', order: { id: '', created_at: '', updated_at: '' }, parts: [], related: {} },
  },
};

test('what is new is read, whoever wrote it, and nothing else', async () => {
  expect((await orders.load(TENANT, orderId))?.state.parts.size).toBe(LINES);
  expect(read).toBe(LINES + 1);
  await append(quantity(1, 2));
  await append(quantity(2, 3));
  read = 0;
  const order = await orders.load(TENANT, orderId);
  expect(read).toBe(2);
  expect(order).toMatchObject({ revision: LINES + 2 });
  expect(order?.state.parts.get('line-7')?.fields).toEqual({ quantity: 3 });
  expect(await orders.load(TENANT, orderId)).toEqual(order);
  expect(read).toBe(2);
});

test('deliveries have the order as it was after each event, in whatever order they ask', async () => {
  await append(quantity(1, 2), approved, quantity(2, 3));
  const at = async (revision: number) => {
    const order = await orders.loadAt(TENANT, orderId, revision);
    return [order?.revision, order?.state.parts.get('line-7')?.fields.quantity, order?.approval?.approver.id];
  };
  expect(await at(LINES)).toEqual([LINES, 1, undefined]);
  read = 0;
  expect(await at(LINES + 1)).toEqual([LINES + 1, 2, undefined]);
  expect(await at(LINES + 3)).toEqual([LINES + 3, 3, 7]);
  expect(read).toBe(3);
  // One that is tried again does not make the next ones read everything.
  expect(await at(LINES + 1)).toEqual([LINES + 1, 2, undefined]);
  read = 0;
  expect(await at(LINES + 3)).toEqual([LINES + 3, 3, 7]);
  expect(read).toBe(0);
});

test('an order of few large events is kept as well, and read again when others have taken its room', async () => {
  const large = async (characters: number, parts: number) => {
    orderId = randomUUID();
    await append({ type: 'OrderCreated', data: { table: 'dyn_stock_order', fields: {}, status: 'validated' } });
    const fields = { description: 'x'.repeat(characters) };
    for (let n = 0; n < parts; n += 1) {
      await append({ type: 'OrderPartAdded', data: { table: 'dyn_order_line', id: `line-${n}`, fields, status } });
    }
    await orders.load(TENANT, orderId);
    return orderId;
  };
  const first = await large(60_000, 2);
  await append({ type: 'OrderPartChanged', data: { table: 'dyn_order_line', id: 'line-1', changes: {}, status } });
  read = 0;
  expect(await orders.load(TENANT, first)).toMatchObject({ revision: 3 });
  expect(read).toBe(1);
  await large(900_000, Math.ceil(KEPT_ORDERS_CHARACTERS / 900_000) - 1);
  await large(900_000, 2);
  read = 0;
  expect(await orders.load(TENANT, first)).toMatchObject({ revision: 3 });
  expect(read).toBe(4);
});

test('an order that nobody made is none', async () => {
  expect(await orders.load(TENANT, randomUUID())).toBeUndefined();
  expect(await orders.loadAt(TENANT, randomUUID(), 3)).toBeUndefined();
});
