import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { newId } from '#app/commands/clock.js';
import { createRecord, updateRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { tableStream } from '#app/domain/streams.js';
import { verifyProjection } from '#app/rebuild/verify.js';
import { logEvent } from '../acceptance/logEvent.js';
import { type Inside, openInside, openTenant } from './harness.js';

let inside: Inside;

beforeEach(async () => {
  inside = await openInside();
  await openTenant(inside, 'acme');
});
afterEach(() => inside.close());

const sync = (from: number, count: number, name: string) =>
  upsertBatch(inside.commands, inside.caller('acme'), inside.assetType('acme', 'dyn_party'), {
    items: Array.from({ length: count }, (_, n) => ({ external_id: `p${from + n}`, name: `${name} ${from + n}` })),
  });

const verify = (projection: 'records' | 'order_history' | 'deliveries' | 'activity') =>
  verifyProjection({ ...inside, deliveryLogDays: 30 }, { projection });

it('nothing differs while records are made and changed all the time', async () => {
  await sync(0, 1_000, 'Party');
  let verifying = true;
  const write = async (): Promise<void> => {
    for (let round = 0; verifying; round++) {
      await sync((round * 300) % 1_000, 200, `Round ${round}`);
      const order = inside.assetType('acme', 'dyn_stock_order');
      const { id } = await createRecord(inside.commands, inside.caller('acme'), order, { notes: 'first' });
      await updateRecord(inside.commands, inside.caller('acme'), order, id, { notes: 'second' });
    }
  };
  const writing = write();
  for (const projection of ['records', 'order_history', 'deliveries', 'activity'] as const) {
    expect(await verify(projection)).toMatchObject({ differences: [], more: 0 });
  }
  verifying = false;
  await writing;
  await inside.caughtUp();
  expect((await verify('records')).records).toBeGreaterThan(1_000);
});

it('nothing is left behind, and nothing served is changed, also where it is stopped', async () => {
  await sync(0, 50, 'Party');
  const stopping = new AbortController();
  const scope = { projection: 'records' } as const;
  const stopped = verifyProjection({ ...inside, deliveryLogDays: 30 }, scope, () => stopping.abort(), stopping.signal);
  await expect(stopped).rejects.toMatchObject({ name: 'AbortError' });
  expect((await verify('records')).differences).toEqual([]);
  const db = openSqlite(join(inside.directoryPath, 'readmodels.db'));
  expect(db.prepare('SELECT count(*) FROM rebuilds').pluck().get()).toBe(0);
  expect(db.prepare('SELECT count(*) FROM catalog WHERE copy <> 0').pluck().get()).toBe(0);
  db.close();
});

it('a tenant that is parked is told and not compared; all others are', async () => {
  await openTenant(inside, 'other');
  await sync(0, 10, 'Party');
  const nobody = logEvent('acme', 'RecordChanged', { id: newId(), set: { name: 'Nobody' } });
  const { position } = await inside.eventStore.append(tableStream('acme', 'dyn_party'), [nobody], 'any');
  await inside.caughtUp();
  const report = await verify('records');
  expect(report.differences).toMatchObject([
    { tenant: 'acme', table: null, record: null, detail: expect.stringContaining(`parked at position ${position}`) },
  ]);
  expect(report.parts).toBeGreaterThan(0);
});
