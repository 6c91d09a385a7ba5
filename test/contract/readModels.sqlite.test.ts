import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { scaled } from '../engines/timeScale.js';
import { describeReadModels } from './readModels.js';
import { describeAhead } from './readModelsAhead.js';
import { acmePlaces, contains, fill, found, insert, query } from './readModelsFixture.js';

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
    refusedNotes: () => refusedNotes(file),
  };
};

/** SQLite's own limit on the size of a row is beyond what a test can write. */
function refusedNotes(file: string): string {
  const db = openSqlite(file);
  const tables = db
    .prepare<[], string>(
      "SELECT name FROM sqlite_schema WHERE type = 'table' AND (name GLOB 'd[0-9]*' OR name = 'small_docs')",
    )
    .pluck()
    .all();
  for (const table of tables)
    for (const change of ['INSERT', 'UPDATE'])
      db.exec(`CREATE TRIGGER refuse_${change}_${table} BEFORE ${change} ON ${table}
        WHEN instr(new.doc, 'too large') BEGIN SELECT RAISE(ABORT, 'too large'); END`);
  db.close();
  return 'too large';
}

const open = openWith({ smallRows: 0 });

describeReadModels('SQLite', open);
describeReadModels('SQLite, tables that lack their indexes yet', openWith({}));
describeAhead('SQLite', open);

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
  expect(performance.now() - leftAt).toBeLessThan(scaled(8_000));
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
