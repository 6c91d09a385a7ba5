/** Reads wait for what was answered before it is shown, and for nothing else. */
import { MAX_PENDING_WRITES, MAX_TENANT_PENDING_WRITES } from '#app/domain/limits.js';
import type { EventSlice } from '#app/ports/eventStore.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { projections } from '#app/projector/projections.js';
import { ORDERS, PendingWrites } from '#app/reading/pendingWrites.js';
import { ReadBarrier } from '#app/reading/readBarrier.js';
import { ReadGate } from '#app/reading/readGate.js';

const LONGEST_READ_MS = 300;

/** A write that is shown when `show` is called. */
function write(): { readonly shown: Promise<boolean>; readonly show: () => void } {
  let show = (): void => undefined;
  const shown = new Promise<boolean>((resolve) => {
    show = () => resolve(true);
  });
  return { shown, show };
}

/** The gate of read models that show all that there is. */
const openGate = (): ReadGate => {
  const log = { identity: async () => 'log', holds: async () => true, head: async () => 1, subscribe };
  return new ReadGate(
    log,
    {
      checkpoint: async () => 1,
      checkpoints: async () => new Map(projections.map(({ name }) => [name, 1])),
      anchor: async () => ({ log: 'log', position: 1, eventId: '1' }),
      parked: async () => [],
      outOfOrder: async () => [],
    },
    60,
  );
};

async function* subscribe(): AsyncGenerator<EventSlice> {}

const pause = () => new Promise((resolve) => setImmediate(resolve));

let writes: PendingWrites;
const behind = new Set<string>();
beforeEach(() => {
  behind.clear();
  writes = new PendingWrites(LONGEST_READ_MS, (tenant) => !behind.has(tenant));
});
afterEach(() => jest.restoreAllMocks());

/** Milliseconds from now on, for `performance.now`. */
function pass(milliseconds: number): void {
  const now = performance.now() + milliseconds;
  jest.spyOn(performance, 'now').mockReturnValue(now);
}

test('a read waits for all that was answered of its part, and not for that of other parts and tenants', async () => {
  const [first, second] = [write(), write()];
  writes.add('acme', 'dyn_item', first.shown);
  writes.add('acme', 'dyn_item', second.shown);
  expect(writes.untilShown('acme', ORDERS)).toBeUndefined();
  expect(writes.untilShown('other', 'dyn_item')).toBeUndefined();
  let isOver = false;
  const waiting = writes.untilShown('acme', 'dyn_item')?.then(() => {
    isOver = true;
  });
  second.show();
  await pause();
  expect(isOver).toBe(false);
  first.show();
  await waiting;
  expect(writes.untilShown('acme', 'dyn_item')).toBeUndefined();
});

test('a guarded read goes on when it is shown; a snapshot for a decision does not wait', async () => {
  const scopeOf = (_: string, table: string) => (table === 'dyn_item' ? table : ORDERS);
  const barrier = new ReadBarrier(openGate(), { longestReadMs: LONGEST_READ_MS, scopeOf });
  const asked: string[] = [];
  const answering = (name: string) => async () => asked.push(name);
  const names = ['get', 'list', 'listBehind', 'byIds', 'cleanedUpIds', 'tableState', 'find', 'history', 'snapshot'];
  const readModels = Object.fromEntries(names.map((name) => [name, answering(name)])) as unknown as ReadModels;
  const guarded = barrier.guard(readModels);
  const { shown, show } = write();
  barrier.pendingWrites?.add('acme', ORDERS, shown);
  const order = { tenant: 'acme', table: 'dyn_stock_order' };
  const waiting = [guarded.get(order, 'id'), guarded.tableState(order), guarded.find(order, 'id', [])];
  waiting.push(guarded.history('acme', 'id', { page: 1, perPage: 1 }) as never);
  await guarded.get({ tenant: 'acme', table: 'dyn_item' }, 'id');
  await guarded.snapshot(order, { keys: [], ids: [] });
  await pause();
  expect(asked).toEqual(['get', 'snapshot']);
  show();
  await Promise.all(waiting);
  expect(asked).toEqual(['get', 'snapshot', 'get', 'tableState', 'find', 'history']);
});

test('a read does not wait for ever, and then it may lack what was answered', async () => {
  const { shown, show } = write();
  writes.add('acme', ORDERS, shown);
  expect(writes.isLate('acme')).toBe(false);
  await writes.untilShown('acme', ORDERS);
  expect(writes.isLate('acme')).toBe(true);
  expect(() => writes.requireShown('acme')).toThrow('What was written last is not shown yet.');
  expect(writes.untilShown('acme', ORDERS)).toBeUndefined();
  show();
  await pause();
  expect(writes.isLate('acme')).toBe(false);
  expect(() => writes.requireShown('acme')).not.toThrow();
});

test('writes wait themselves while one is not shown for a second, or the tenant is behind', async () => {
  const { shown, show } = write();
  writes.add('acme', ORDERS, shown);
  expect(writes.hasRoom('acme', 'dyn_item')).toBe(true);
  pass(1_001);
  expect([writes.hasRoom('acme', 'dyn_item'), writes.hasRoom('other', 'dyn_item')]).toEqual([false, true]);
  show();
  await pause();
  expect(writes.hasRoom('acme', 'dyn_item')).toBe(true);
  behind.add('acme');
  expect(writes.hasRoom('acme', 'dyn_item')).toBe(false);
});

test('a write to what changes in bulk waits itself; reads do not wait for the bulk', async () => {
  const { shown, show } = write();
  const during = writes.during('acme', 'dyn_item', shown);
  expect([writes.hasRoom('acme', 'dyn_item'), writes.hasRoom('acme', ORDERS)]).toEqual([false, true]);
  expect(writes.untilShown('acme', 'dyn_item')).toBeUndefined();
  pass(60_000);
  expect([writes.hasRoom('acme', ORDERS), writes.isLate('acme')]).toEqual([true, false]);
  show();
  expect(await during).toBe(true);
  expect(writes.hasRoom('acme', 'dyn_item')).toBe(true);
});

test('so many of one tenant, and of all, and those beyond wait themselves', () => {
  const never = new Promise<boolean>(() => undefined);
  for (let n = 0; n < MAX_TENANT_PENDING_WRITES; n++) writes.add('acme', ORDERS, never);
  expect([writes.hasRoom('acme', ORDERS), writes.hasRoom('other', ORDERS)]).toEqual([false, true]);
  for (let n = MAX_TENANT_PENDING_WRITES; n < MAX_PENDING_WRITES; n++) writes.add(`tenant ${n}`, ORDERS, never);
  expect(writes.hasRoom('other', ORDERS)).toBe(false);
});
