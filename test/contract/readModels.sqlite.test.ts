import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import type Database from 'better-sqlite3';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { KEPT_DELETED_DAYS } from '#app/domain/limits.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { describeReadModels } from './readModels.js';
import { describeAhead } from './readModelsAhead.js';
import { acmePlaces, at, contains, delivery, fill, found, id, insert, query, write } from './readModelsFixture.js';

const directory = mkdtempSync(join(tmpdir(), 'read-models-'));
afterAll(() => rmSync(directory, { recursive: true }));

let number = 0;
const openWith = (options: { readonly smallRows?: number }) => async () => {
  number += 1;
  const file = join(directory, `${number}.db`);
  return {
    readModels: await openSqliteReadModels({ file, readers: 1 }),
    writer: await openSqliteReadModelWriter({ file, ...options }),
    anotherWriter: () => openSqliteReadModelWriter({ file, ...options }),
  };
};
const open = openWith({ smallRows: 0 });

describeReadModels('SQLite', open);
describeReadModels('SQLite, tables that lack their indexes yet', openWith({}));
describeAhead('SQLite', open);

test('a file of a release without delivery logs gets them, and keeps what it has', async () => {
  const file = join(directory, 'earlier.db');
  const earlier = await openSqliteReadModelWriter({ file, smallRows: -1 });
  await fill(earlier, [insert(1, {})]);
  await earlier.close();
  const db = openSqlite(file);
  for (const table of ['deliveries', 'delivery_webhooks', 'delivery_logs']) db.exec(`DROP TABLE ${table}`);
  db.exec('ALTER TABLE catalog DROP COLUMN swept');
  db.exec('ALTER TABLE catalog DROP COLUMN small');
  db.pragma('user_version = 1');
  db.close();

  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const writer = await openSqliteReadModelWriter({ file });
  expect(await readModels.delivery('acme', id(1))).toBeUndefined();
  await write(writer, () => writer.putDelivery('acme', delivery(1)));
  expect(await readModels.deliveries('acme', { webhookId: 'hook', limit: 1 })).toEqual([delivery(1)]);
  expect(await found(readModels, {})).toMatchObject({ total: 1 });
  await readModels.close();
  await writer.close();
});

/** Until schema version 11 each table had one of its own for what clean-ups deleted. @returns its name */
function giveOwnCleanedUp(db: Database.Database, columns: string, selected: string): string {
  const id = db.prepare('SELECT id FROM catalog WHERE swept = 2').pluck().get();
  db.exec(`CREATE TABLE s${id} (${columns})`);
  db.exec(`INSERT INTO s${id} SELECT ${selected} FROM swept_records`);
  db.exec('DROP TABLE swept_records');
  db.exec('UPDATE catalog SET swept = 1 WHERE swept = 2');
  db.exec('ALTER TABLE catalog DROP COLUMN small');
  return `s${id}`;
}

test('a file of a release that kept only the ids of deleted records keeps them, and whole records from then on', async () => {
  const file = join(directory, 'ids.db');
  const earlier = await openSqliteReadModelWriter({ file, smallRows: -1 });
  await fill(earlier, [insert(1, {}), { kind: 'cleanUp', batchId: 'x' }]);
  await earlier.close();
  const db = openSqlite(file);
  giveOwnCleanedUp(db, 'u TEXT PRIMARY KEY, id BLOB NOT NULL UNIQUE', 'u, id');
  db.pragma('user_version = 6');
  db.close();

  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const writer = await openSqliteReadModelWriter({ file });
  const { formerIds } = await readModels.snapshot(acmePlaces, { keys: ['C1'], ids: [] });
  expect(formerIds).toEqual(new Map([['C1', id(1)]]));
  expect(await readModels.deletedRecords(acmePlaces, 4, { limit: 5, isCounted: true })).toEqual({
    records: [],
    total: 0,
  });
  const changes = [insert(2, {}), { kind: 'cleanUp', batchId: 'x' }] as const;
  await write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: 5, at: at(5) }));
  expect(await readModels.deletedRecords(acmePlaces, 5, { limit: 5, isCounted: true })).toMatchObject({
    total: 1,
    records: [{ id: id(2) }],
  });
  await readModels.close();
  await writer.close();
});

test('a file of a release that kept deleted records without their time keeps them for as long as those deleted now', async () => {
  const file = join(directory, 'times.db');
  const earlier = await openSqliteReadModelWriter({ file, smallRows: -1 });
  await fill(earlier, [insert(1, {}), { kind: 'cleanUp', batchId: 'x' }]);
  await earlier.close();
  const db = openSqlite(file);
  const swept = giveOwnCleanedUp(
    db,
    `row INTEGER PRIMARY KEY, u TEXT NOT NULL, id BLOB NOT NULL UNIQUE, revision INTEGER NOT NULL,
     batch INTEGER, width INTEGER, doc TEXT`,
    'row, u, id, revision, batch, width, doc',
  );
  db.exec(`CREATE INDEX ${swept}_u ON ${swept} (u)`);
  db.exec(`CREATE INDEX ${swept}_revision ON ${swept} (revision, id)`);
  db.pragma('user_version = 8');
  db.close();

  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const writer = await openSqliteReadModelWriter({ file });
  const continueCleanUp = async (day: number, revision: number) => {
    const changes = [insert(revision, {}), { kind: 'cleanUp', batchId: 'x' }] as const;
    const time = new Date(Date.now() + day * 86_400_000).toISOString();
    await write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: time }));
    return readModels.cleanedUpIds(acmePlaces, 4, { limit: 5 });
  };
  expect(await continueCleanUp(KEPT_DELETED_DAYS - 1, 5)).toEqual([id(1)]);
  expect(await continueCleanUp(KEPT_DELETED_DAYS + 1, 6)).toEqual([]);
  await readModels.close();
  await writer.close();
});

test('a file of a release that kept one deleted record of each key keeps them, and each id from then on', async () => {
  const file = join(directory, 'keys.db');
  const earlier = await openSqliteReadModelWriter({ file, smallRows: -1 });
  await fill(earlier, [insert(1, {}), { kind: 'cleanUp', batchId: 'x' }]);
  await earlier.close();
  const db = openSqlite(file);
  const swept = giveOwnCleanedUp(
    db,
    `row INTEGER PRIMARY KEY, u TEXT NOT NULL UNIQUE, id BLOB NOT NULL UNIQUE, revision INTEGER NOT NULL,
     batch INTEGER, width INTEGER, doc TEXT`,
    'row, u, id, revision, batch, width, doc',
  );
  db.exec(`CREATE INDEX ${swept}_revision ON ${swept} (revision, id)`);
  db.pragma('user_version = 7');
  db.close();

  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const writer = await openSqliteReadModelWriter({ file });
  expect(await readModels.deletedRecords(acmePlaces, 4, { limit: 5, isCounted: true })).toMatchObject({
    records: [{ id: id(1) }],
  });
  const again = [{ ...insert(1, {}), id: id(2) } as RecordChange, { kind: 'cleanUp', batchId: 'x' } as const];
  await write(writer, () => writer.applyToTable(acmePlaces, again, { revision: 5, at: at(5) }));
  expect(await readModels.cleanedUpIds(acmePlaces, 4, { limit: 5 })).toEqual([id(1)]);
  expect(await readModels.cleanedUpIds(acmePlaces, 5, { limit: 5 })).toEqual([id(2)]);
  expect(await readModels.deletedRecords(acmePlaces, 4, { limit: 5, isCounted: true })).toEqual({
    records: [],
    total: 0,
  });
  const { formerIds } = await readModels.snapshot(acmePlaces, { keys: ['C1'], ids: [] });
  expect(formerIds).toEqual(new Map([['C1', id(2)]]));
  await readModels.close();
  await writer.close();
});

test('a file that cannot be opened is named', async () => {
  const file = join(directory, 'nowhere', 'readmodels.db');
  await expect(openSqliteReadModels({ file })).rejects.toThrow(ReadModelsUnavailableError);
  await expect(openSqliteReadModelWriter({ file })).rejects.toThrow(file);
});

const left = new Error('left');

test('a search that nobody waits for any more ends within a few rows, and its thread answers others', async () => {
  const file = join(directory, 'left.db');
  const writer = await openSqliteReadModelWriter({ file });
  await fill(
    writer,
    Array.from({ length: 5_000 }, (_, n) => insert(n, { name: 'x'.repeat(250) })),
  );
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  // Some ten seconds for one thread.
  const needles = Array.from({ length: 5_000 }, (_, n) => `x${n}`);
  const filters = [contains('name', ...needles), contains('code', ...needles)];
  const leaving = new Cancellation();
  const searches = Array.from({ length: 8 }, () =>
    expect(readModels.list(acmePlaces, query({ filters }), leaving)).rejects.toBe(left),
  );
  await wait(300);
  const leftAt = performance.now();
  leaving.cancel(left);
  await Promise.all(searches);
  expect(await found(readModels, { limit: 1 })).toMatchObject({ total: 5_000 });
  expect(performance.now() - leftAt).toBeLessThan(8_000);
  await readModels.close();
  await writer.close();
});

test('decisions are answered while all threads for lists are busy', async () => {
  const file = join(directory, 'busy.db');
  const writer = await openSqliteReadModelWriter({ file });
  await fill(
    writer,
    Array.from({ length: 5_000 }, (_, n) => insert(n, { name: 'x'.repeat(250) })),
  );
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const filters = [contains('name', ...Array.from({ length: 5_000 }, (_, n) => `x${n}`))];
  const leaving = new Cancellation();
  const searches = Array.from({ length: 8 }, () => readModels.list(acmePlaces, query({ filters }), leaving));
  const keys = Array.from({ length: 1_000 }, (_, n) => `C${n}`);
  const first = await Promise.race([...searches, readModels.snapshot(acmePlaces, { keys, ids: [] })]);
  expect(first).toMatchObject({ revision: 4 });
  leaving.cancel(left);
  await Promise.allSettled(searches);
  await readModels.close();
  await writer.close();
});
