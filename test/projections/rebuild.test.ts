import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { addAssetField } from '#app/commands/identity/assetTypes.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { cleanUpTable, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import type { ReadModelRebuild } from '#app/ports/readModelWriter.js';
import { rebuildProjection, UnprovenCopyError } from '#app/rebuild/rebuild.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;

beforeEach(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
  await openTenant(inside, 'acme2');
});
afterEach(() => inside.close());

const parties = (from: number, count: number, batchId: string, name = 'Party') => ({
  items: Array.from({ length: count }, (_, index) => ({
    external_id: `p${from + index}`,
    name: `${name} ${from + index}`,
    _batch_id: batchId,
  })),
});

const sync = (tenant: string, body: unknown) =>
  upsertBatch(inside.commands, inside.caller(tenant), inside.assetType(tenant, 'dyn_party'), body);

async function everything(tenant: string, table: string): Promise<unknown> {
  await inside.caughtUp();
  const query = { filters: [], sort: [], offset: 0, limit: 1000 };
  const { records, total } = await inside.readModels.list({ tenant, table }, query);
  const counted = await inside.readModels.countOutsideBatch({ tenant, table }, 'nothing has this batch id');
  return { records, total, counted };
}

async function history(tenant: string, orderId: string): Promise<unknown> {
  await inside.caughtUp();
  return inside.readModels.history(tenant, orderId, { page: 1, perPage: 100 });
}

async function fillAcme(): Promise<string> {
  await sync('acme', parties(0, 400, 'one'));
  await sync('acme', parties(100, 200, 'two', 'Other'));
  await cleanUpTable(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
    batch_id: 'two',
  });
  await addAssetField(inside.commands, inside.caller('acme'), 'dyn_party', {
    name: 'grade',
    type: 'String',
    filterable: true,
    sortable: true,
  });
  await sync('acme', { items: [{ external_id: 'p150', name: 'Graded', grade: 'A' }] });
  const order = await createRecord(
    inside.commands,
    inside.caller('acme'),
    inside.assetType('acme', 'dyn_stock_order'),
    { notes: 'first' },
  );
  await createRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_order_line'), {
    order_id: order.id,
    quantity: 3,
  });
  await updateRecord(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_stock_order'), order.id, {
    notes: 'second',
  });
  return order.id;
}

it('a rebuild of everything, of a tenant or of a table shows what was there before, and leaves the log as it is', async () => {
  const orderId = await fillAcme();
  await sync('acme2', parties(0, 10, 'x'));
  const tables = ['dyn_party', 'dyn_stock_order', 'dyn_order_line'];
  const shown = () =>
    Promise.all([
      ...tables.map((table) => everything('acme', table)),
      everything('acme2', 'dyn_party'),
      history('acme', orderId),
      inside.eventStore.head(),
    ]);
  const before = await shown();
  for (const scope of [
    { projection: 'records' },
    { projection: 'order_history' },
    { projection: 'records', tenant: 'acme' },
    { projection: 'records', tenant: 'acme', table: 'dyn_party' },
    { projection: 'records', tenant: 'acme', table: 'dyn_order_line' },
  ] as const) {
    expect((await rebuildProjection(inside, scope)).events).toBeGreaterThan(0);
    expect(await shown()).toEqual(before);
  }
  await sync('acme', parties(5000, 1, 'later'));
  expect(await everything('acme', 'dyn_party')).toMatchObject({ total: 201 });
});

it('writes and reads go on during a rebuild, and nothing of them is lost', async () => {
  await sync('acme', parties(0, 1000, 'one'));
  let rebuilding = true;
  let written = 1000;
  const write = async (): Promise<void> => {
    while (rebuilding) {
      await sync('acme', parties(written, 20, 'one'));
      written += 20;
    }
  };
  const writing = write();
  for (let round = 0; round < 3; round++) await rebuildProjection(inside, { projection: 'records' });
  rebuilding = false;
  await writing;
  expect(await everything('acme', 'dyn_party')).toMatchObject({
    total: written,
    counted: { count: written },
  });
});

describe('a copy that does not stand the proof is not put in place, and what is wrong is named', () => {
  /** Does something to the copy of a table by hand, before it is proven. */
  function damaging(sql: (table: number) => string): Inside['writer'] {
    const damage = (): void => {
      const db = openSqlite(join(inside.directoryPath, 'readmodels.db'));
      const find = "SELECT id FROM catalog WHERE tenant = 'acme' AND name = 'dyn_party' AND copy > 0";
      db.exec(sql(db.prepare<[], number>(find).pluck().get() ?? 0));
      db.close();
    };
    const withDamage = (copy: ReadModelRebuild): ReadModelRebuild => ({
      writer: copy.writer,
      proof: {
        ...copy.proof,
        parts: async () => {
          damage();
          return copy.proof.parts();
        },
      },
      position: () => copy.position(),
      holdLive: () => copy.holdLive(),
      release: (position) => copy.release(position),
      swap: () => copy.swap(),
      abandon: () => copy.abandon(),
    });
    const { writer } = inside;
    return new Proxy(writer, {
      get(target, name) {
        if (name === 'beginRebuild') return async (scope: never) => withDamage(await writer.beginRebuild(scope));
        const value: unknown = Reflect.get(target, name);
        return typeof value === 'function' ? value.bind(target) : value;
      },
    });
  }

  it.each([
    [
      'an entry of an index',
      (id: number) => `DELETE FROM r${id}_t0 WHERE rowid = 7`,
      /dyn_party r\d+_t0 [0-9a-f-]{36}: /,
    ],
    [
      'a count',
      (id: number) => `UPDATE catalog SET row_count = 4 WHERE id = ${id}`,
      /counts 4 records, and there are 1030\./,
    ],
  ])('%s', async (_, sql, message) => {
    // More than a table has that lacks its indexes yet.
    await sync('acme', parties(0, 515, 'one'));
    await sync('acme', parties(515, 515, 'one'));
    const before = await everything('acme', 'dyn_party');
    const scope = { projection: 'records', tenant: 'acme', table: 'dyn_party' } as const;
    const rebuilt = rebuildProjection({ ...inside, writer: damaging(sql) }, scope);
    await expect(rebuilt).rejects.toThrow(UnprovenCopyError);
    await expect(rebuilt).rejects.toThrow(message);
    expect(await everything('acme', 'dyn_party')).toEqual(before);
    await rebuildProjection(inside, scope);
    expect(await everything('acme', 'dyn_party')).toEqual(before);
  });
});
