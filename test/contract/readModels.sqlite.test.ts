import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { scaled } from '../engines/timeScale.js';
import { describeReadModels } from './readModels.js';
import { describeAhead } from './readModelsAhead.js';
import { acmePlaces, contains, fill, found, insert, type OpenReadModels, query } from './readModelsFixture.js';

const directory = mkdtempSync(join(tmpdir(), 'read-models-'));
afterAll(() => rmSync(directory, { recursive: true }));

let number = 0;
const open: OpenReadModels = async () => {
  number += 1;
  const file = join(directory, `${number}.db`);
  const another = () => openSqliteReadModelWriter({ file, smallRows: 0 });
  const [readModels, writer] = await Promise.all([openSqliteReadModels({ file, readers: 1 }), another()]);
  return { readModels, writer, anotherWriter: another, refusedNotes: () => refusedNotes(file) };
};

/** SQLite's own limit on the size of a row is beyond what a test can write. */
function refusedNotes(file: string): string {
  const db = openSqlite(file);
  const tables = db
    .prepare<[], string>("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB 'd[0-9]*'")
    .pluck()
    .all();
  for (const table of tables)
    for (const change of ['INSERT', 'UPDATE'])
      db.exec(`CREATE TRIGGER refuse_${change}_${table} BEFORE ${change} ON ${table}
        WHEN instr(new.doc, 'too large') BEGIN SELECT RAISE(ABORT, 'too large'); END`);
  db.close();
  return 'too large';
}

describeReadModels('SQLite', open);
describeAhead('SQLite', open);

test('a file that cannot be opened is named', async () => {
  const file = join(directory, 'nowhere', 'readmodels.db');
  await expect(openSqliteReadModels({ file })).rejects.toThrow(ReadModelsUnavailableError);
  await expect(openSqliteReadModelWriter({ file })).rejects.toThrow(file);
});

describe('searches that take long', () => {
  const RECORDS = 2_000;
  const left = new Error('left');
  const leaving = new Cancellation();
  let readModels: ReadModels;
  let writer: ReadModelWriter;
  let searches: Promise<unknown>[];

  // Each would take seconds, and there is one thread for all.
  beforeAll(async () => {
    ({ readModels, writer } = await open());
    await fill(
      writer,
      Array.from({ length: RECORDS }, (_, n) => insert(n, { name: 'x'.repeat(250) })),
    );
    const needles = Array.from({ length: 5_000 }, (_, n) => `x${n}`);
    const filters = [contains('name', ...needles), contains('code', ...needles)];
    searches = Array.from({ length: 8 }, () => readModels.list(acmePlaces, query({ filters }), leaving));
  });
  afterAll(async () => {
    await readModels.close();
    await writer.close();
  });

  test('hold up no decision', async () => {
    const keys = Array.from({ length: 1_000 }, (_, n) => `C${n}`);
    const first = await Promise.race([...searches, readModels.snapshot(acmePlaces, { keys, ids: [] })]);
    expect(first).toMatchObject({ revision: 4 });
  });

  test('end within a few rows when nobody waits for them any more, and their thread answers others', async () => {
    const leftAt = performance.now();
    leaving.cancel(left);
    const ends = await Promise.allSettled(searches);
    expect(ends).toEqual(searches.map(() => ({ status: 'rejected', reason: left })));
    expect(await found(readModels, { limit: 1 })).toMatchObject({ total: RECORDS });
    expect(performance.now() - leftAt).toBeLessThan(scaled(5_000));
  });
});
