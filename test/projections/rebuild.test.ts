import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { rebuildProjection } from '#app/rebuild/rebuild.js';
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
