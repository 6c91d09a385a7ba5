/** A deleted tenant's read models: which tables are left in the file, also where the projector dies over them. */
import { join } from 'node:path';
import Queue from 'p-queue';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { TryAgainError } from '#app/commands/context.js';
import { createTenant, deleteTenant } from '#app/commands/identity/tenants.js';
import { createRecord } from '#app/commands/records.js';
import { readConfig } from '#app/config.js';
import { keepUp } from '#app/projector/upkeep.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
import { openReadModelWriter } from '#app/service/engines.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;
beforeEach(async () => {
  inside = await openInside();
  for (const name of ['acme', 'other']) {
    await openTenant(inside, name);
    await createRecord(inside.commands, inside.caller(name), inside.assetType(name, 'dyn_item'), {
      external_id: 'A1',
      name: 'Tea',
    });
  }
  await inside.caughtUp();
});
afterEach(() => inside.close());

/** Rows of the catalog, and tables of records. */
function left(): { readonly tenants: unknown; readonly tables: number } {
  const db = openSqlite(join(inside.directoryPath, 'readmodels.db'), { readonly: true });
  try {
    const tenants = db.prepare('SELECT DISTINCT tenant FROM catalog ORDER BY tenant').pluck().all();
    const tables = db.prepare("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name GLOB 'r[0-9]*'");
    return { tenants, tables: Number(tables.pluck().get()) };
  } finally {
    db.close();
  }
}

const ALL = { filters: [], sort: [], offset: 0, limit: 25 };
const item = (tenant: string) => ({ tenant, table: 'dyn_item' });
const listed = async (tenant: string) => (await inside.readModels.list(item(tenant), ALL)).total;

it('the projector that died over the removal is followed by one that ends it; the name is not given again', async () => {
  const before = left();
  await deleteTenant(inside.commands, inside.caller('acme'));
  await inside.caughtUp();
  // Nobody removes anything here; the next writer does, with its first looks.
  expect(left()).toEqual(before);
  const writer = await openReadModelWriter(readConfig({ DATA_DIR: inside.directoryPath }));
  expect(await writer.clearDropped()).toBe(true);
  await writer.close();

  const next = await openReadModelWriter(readConfig({ DATA_DIR: inside.directoryPath }));
  const stopping = new AbortController();
  const removing = keepUp({ writer: next, writing: new Queue({ concurrency: 1 }) }, stopping.signal);
  while (JSON.stringify(left().tenants) !== '["other"]') await new Promise((resolve) => setTimeout(resolve, 20));
  stopping.abort();
  await removing;
  await next.close();
  expect(left().tables * 2).toBe(before.tables);
  expect(await listed('other')).toBe(1);
  await expect(createTenant(inside.commands, inside.caller('acme'), { orderModel: 'dyn_stock_order' })).rejects.toThrow(
    'Tenant acme was deleted; its name is not given again.',
  );
});

it('a rebuild reads past the tenant, and does not bring it back', async () => {
  await deleteTenant(inside.commands, inside.caller('acme'));
  await inside.caughtUp();
  for (const projection of ['records', 'order_history', 'deliveries', 'activity'] as const) {
    await rebuildProjection(inside, { projection });
  }
  expect(left().tenants).toEqual(['other']);
  expect(await listed('other')).toBe(1);
});

it('what a process wrote that had not heard of it changes nothing', async () => {
  const { commands, caller } = inside;
  const type = inside.assetType('acme', 'dyn_item');
  const known = commands.directory.tenant('acme');
  await deleteTenant(commands, caller('acme'));
  const directory = {
    tenant: () => known,
    known: () => undefined,
    tenants: () => commands.directory.tenants(),
    parkedReason: () => undefined,
    wasDeleted: () => false,
    waitFor: (position: number) => commands.directory.waitFor(position),
  };
  // The projector may have removed the table already: then there is no revision of it that the log takes.
  await createRecord({ ...commands, directory }, caller('acme'), type, { external_id: 'A2', name: 'Late' }).catch(
    (error: unknown) => expect(error).toBeInstanceOf(TryAgainError),
  );
  await inside.caughtUp();
  expect(commands.directory.wasDeleted('acme')).toBe(true);
  expect([...commands.directory.tenants()].map(({ name }) => name)).toEqual(['other']);
  expect(await inside.readModels.list(item('other'), ALL)).toMatchObject({ total: 1 });
});
