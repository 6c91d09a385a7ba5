/** Embedded: what is short does not wait for what takes long, and what was begun goes on after a crash (decision 0019). */
import { join } from 'node:path';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { newId } from '#app/commands/clock.js';
import { addAssetField } from '#app/commands/identity/assetTypes.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { cleanUpTable, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import type { Position, RecordedEvent } from '#app/ports/eventStore.js';
import type { Projection } from '#app/ports/projection.js';
import type { OutOfOrder } from '#app/ports/projectionProgress.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { projections } from '#app/projector/projections.js';
import { runProjections } from '#app/projector/runner.js';
import { verifyProjection } from '#app/rebuild/verify.js';
import { event } from '../contract/eventStoreFixtures.js';
import { type Inside, openInside, openTenant } from './harness.js';

type Writer = ReadModelWriter & RebuildableReadModels;

let inside: Inside;
/** The log that all tests read. */
let orderPosition: Position;
let head: Position;
/** A second set of read models, made of the same log. */
let file: string;
let files = 0;

const sync = (tenant: string, from: number, count: number, batchId: string) =>
  upsertBatch(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_party'), {
    items: Array.from({ length: count }, (_, n) => ({
      external_id: `p${from + n}`,
      name: `${batchId} ${from + n}`,
      _batch_id: batchId,
    })),
  });
const order = (tenant: string, notes: string, lines: readonly object[] = []) =>
  createRecord(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_stock_order'), { notes, lines });
/** More than one transaction takes, of both tenants together. */
const units = (tenant: string) => {
  const codes = Array.from({ length: 300 }, (_, n) => ({ id: newId(), fields: { code: `U${n}`, value: 'unit' } }));
  const events = codes.map((created) => event(created, 'RecordCreated'));
  return inside.eventStore.append(`table-${tenant}.dyn_unit_code`, events, 'any');
};

beforeAll(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
  await openTenant(inside, 'other');
  await sync('acme', 0, 350, 'first');
  const { id, position } = await order('acme', 'behind a batch');
  orderPosition = position;
  await order('other', "behind another tenant's batch");
  await sync('acme', 200, 300, 'second');
  await addAssetField(inside.commands, inside.caller('acme'), 'dyn_party', {
    name: 'colour',
    type: 'String',
  });
  await updateRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_stock_order'), id, {
    notes: 'behind a new field',
  });
  await sync('other', 0, 250, 'other');
  await cleanUpTable(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
    batch_id: 'second',
  });
  await order('acme', 'behind a clean-up');
  await order(
    'acme',
    'with many lines',
    Array.from({ length: 150 }, (_, n) => ({ quantity: n + 1 })),
  );
  await sync('acme', 450, 150, 'second');
  await units('acme');
  await units('other');
  await inside.caughtUp();
  head = await inside.eventStore.head();
});
afterAll(() => inside.close());
beforeEach(() => {
  files += 1;
  file = join(inside.directoryPath, `other${files}.db`);
});

type Hooks = {
  readonly projections?: readonly Projection[];
  /** Where events come one by one, what takes long is interrupted by each. */
  readonly slices?: 'one by one';
  readonly beforeCommit?: () => Promise<void>;
  readonly afterCommit?: (writer: Writer) => Promise<void>;
};

/** The same, but for some of its methods. */
function proxied<Target extends object>(target: Target, methods: Partial<Target>): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(name in methods ? methods : target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

/** Projects until all is there, or a hook throws. */
async function project({ beforeCommit, afterCommit, slices, ...others }: Hooks = {}): Promise<void> {
  const stopping = new AbortController();
  const writer = await openSqliteReadModelWriter({ file });
  const hooked = proxied(writer, {
    async commit(checkpoints, place) {
      await beforeCommit?.();
      await writer.commit(checkpoints, place);
      await afterCommit?.(writer);
      if ((checkpoints.get('records') ?? 0) >= head) stopping.abort();
    },
  });
  try {
    if ((await writer.checkpoint('records')) >= head) return;
    const oneByOne = proxied(inside.eventStore, {
      subscribe: (options) => inside.eventStore.subscribe({ ...options, maxCount: 1 }),
    });
    const eventStore = slices === 'one by one' ? oneByOne : inside.eventStore;
    await runProjections({ eventStore, writer: hooked, projections, ...others }, stopping.signal);
  } finally {
    await writer.close();
  }
}

async function expectProven(): Promise<void> {
  const writer = await openSqliteReadModelWriter({ file });
  try {
    expect(await writer.outOfOrder()).toEqual([]);
    for (const projection of ['records', 'order_history'] as const) {
      const scope = { projection };
      const report = await verifyProjection({ eventStore: inside.eventStore, writer, deliveryLogDays: 30 }, scope);
      expect(report).toMatchObject({ position: head, differences: [] });
    }
  } finally {
    await writer.close();
  }
}

async function reading<Result>(read: (readModels: ReadModels) => Promise<Result>): Promise<Result> {
  const readModels = await openSqliteReadModels({ file });
  try {
    return await read(readModels);
  } finally {
    await readModels.close();
  }
}

const totalOf = (readModels: ReadModels, tenant: string, table: string) =>
  readModels
    .list({ tenant, table }, { filters: [], sort: [], offset: 0, limit: 1 })
    .then(({ total }) => total)
    .catch(() => 0);

test('an order is shown before the batch that was written before it', async () => {
  const seen: { ahead: readonly OutOfOrder[]; order: boolean; all: boolean; records: number }[] = [];
  await project({
    afterCommit: async (writer) =>
      reading(async (readModels) => {
        seen.push({
          ahead: await writer.outOfOrder(),
          order: await readModels.waitForEvent('records', orderPosition, 0, 'acme'),
          all: await readModels.waitFor('records', orderPosition, 0, 'acme'),
          records: await totalOf(readModels, 'acme', 'dyn_party'),
        });
      }),
  });
  const overtaken = seen.find(({ order: isShown }) => isShown);
  expect(overtaken).toMatchObject({ all: false, records: 0 });
  expect(overtaken?.ahead).toContainEqual({
    projection: 'records',
    tenant: 'acme',
    position: orderPosition,
    pieces: null,
  });
  await expectProven();
});

test('it goes on where it was after a crash before or after its commits', async () => {
  let commits = 0;
  const begun: OutOfOrder[] = [];
  await project({
    slices: 'one by one',
    afterCommit: async (writer) => {
      commits += 1;
      begun.push(...(await writer.outOfOrder()).filter(({ pieces }) => pieces !== null));
    },
  });
  await expectProven();
  expect(begun).not.toEqual([]);
  // Every third one: the moments before and after a commit take turns.
  for (let cut = 1; cut <= commits; cut += 3) {
    const moment = cut % 2 === 0 ? 'beforeCommit' : 'afterCommit';
    file = join(inside.directoryPath, `cut${cut}.db`);
    let count = 0;
    const crash = async () => {
      count += 1;
      if (count === cut) throw new Error('A crash.');
    };
    const crashed = project({ slices: 'one by one', [moment]: crash });
    await crashed.catch((error: unknown) => expect(error).toMatchObject({ message: 'A crash.' }));
    await project();
    await expectProven();
  }
});

test('a batch is applied however many orders come', async () => {
  const stopping = new AbortController();
  const [batch, model] = await Promise.all([eventOf('BatchUpserted'), eventOf('OrderCreated')]);
  const writer = await openSqliteReadModelWriter({ file });
  let orders = 0;
  let onCommit: () => void = () => {};
  const endless = proxied(inside.eventStore, {
    async *subscribe() {
      yield { events: [batch], position: batch.position, caughtUp: false };
      for (; !stopping.signal.aborted && orders < 1_000; orders++) {
        const committed = new Promise<void>((resolve) => {
          onCommit = resolve;
        });
        const position = head + 1 + orders;
        const event = { ...model, id: newId(), stream: `order-acme.${newId()}`, position };
        yield { events: [event], position, caughtUp: false };
        await committed;
      }
    },
  });
  const watched = proxied(writer, {
    async commit(checkpoints, place) {
      await writer.commit(checkpoints, place);
      if ((checkpoints.get('records') ?? 0) >= batch.position) stopping.abort();
      onCommit();
    },
  });
  await runProjections({ eventStore: endless, writer: watched, projections }, stopping.signal);
  await writer.close();
  expect(orders).toBeGreaterThan(0);
  expect(orders).toBeLessThan(1_000);
  expect(await reading((readModels) => totalOf(readModels, 'acme', 'dyn_party'))).toBe(350);
});

async function eventOf(type: string): Promise<RecordedEvent> {
  const { signal } = new AbortController();
  for await (const { events } of inside.eventStore.subscribe({ after: 0, signal })) {
    const found = events.find((event) => event.type === type);
    if (found !== undefined) return found;
  }
  throw new Error(`There is no ${type}.`);
}

test('a part that is parked beside a batch that was begun loses nothing', async () => {
  let isBroken = true;
  const breakable = projections.map(
    (projection): Projection => ({
      ...projection,
      async apply(event, tenant, target) {
        if (isBroken && projection.name === 'records' && event.position === orderPosition) throw new Error('Broken.');
        await projection.apply(event, tenant, target);
      },
    }),
  );
  await project({ slices: 'one by one', projections: breakable });
  const [parked] = await reading((readModels) => readModels.parked());
  expect(parked).toMatchObject({ tenant: 'acme', projection: 'records', position: orderPosition });
  isBroken = false;
  const writer = await openSqliteReadModelWriter({ file });
  const stopping = new AbortController();
  await writer.askRetry({ tenant: 'acme', projection: 'records' });
  const onUnparked = () => stopping.abort();
  await runProjections({ eventStore: inside.eventStore, writer, projections, onUnparked }, stopping.signal);
  await writer.close();
  await expectProven();
});

test('while a copy is made to compare with, nothing overtakes', async () => {
  const other = await openSqliteReadModelWriter({ file });
  const copy = await other.beginRebuild({ projection: 'order_history' });
  await project({ afterCommit: async (writer) => expect(await writer.outOfOrder()).toEqual([]) });
  await copy.abandon();
  await other.close();
  await expectProven();
});
