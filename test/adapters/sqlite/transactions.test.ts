import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { inTransaction } from '#app/adapters/readmodels/sqlite/write/transactions.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { fill, found, insert } from '../../contract/readModelsFixture.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it('a writer that never rests lets another one in', async () => {
  const file = join(directory, 'readmodels.db');
  const [restless, other] = [await openSqliteReadModelWriter({ file }), await openSqliteReadModelWriter({ file })];
  let position = 0;
  let isIn = false;
  const write = async (): Promise<void> => {
    // Timers run only inside transactions, as they do while a large synchronisation is projected in pieces.
    while (!isIn && position < 20_000) {
      await restless.begin();
      await new Promise(setImmediate);
      await restless.commit(new Map([['records', ++position]]));
    }
  };
  const writing = write();
  await other.begin();
  isIn = true;
  await other.commit(new Map([['order_history', 1]]));
  await writing;
  expect(position).toBeLessThan(20_000);
  await restless.close();
  await other.close();
});

it('a rebuild that another one has taken for dead leaves what is served', async () => {
  const file = join(directory, 'readmodels.db');
  const writer = await openSqliteReadModelWriter({ file });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  await fill(writer, [insert(1, {})]);
  const slow = await writer.beginRebuild({ projection: 'records' });
  const db = openSqlite(file);
  db.exec('UPDATE rebuilds SET touched_at = 0');
  db.close();
  const next = await writer.beginRebuild({ projection: 'records' });
  await slow.holdLive();
  await expect(slow.swap()).rejects.toThrow('taken for dead');
  await slow.abandon();
  await next.abandon();
  expect(await found(readModels, {})).toEqual({ records: ['C1'], total: 1 });
  await readModels.close();
  await writer.close();
});

it('what failed is told, also where SQLite has rolled back already, as on a full disk', async () => {
  const db = openSqlite(join(directory, 'other.db'));
  const failing = inTransaction(db, () => {
    db.exec('ROLLBACK');
    throw new Error('The disk is full.');
  });
  await expect(failing).rejects.toThrow('The disk is full.');
  db.close();
});
