/** A table of few records lacks most indexes; with more it gets them, and answers as before. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  insert,
  placesWithRegion,
  write,
} from '../../contract/readModelsFixture.js';
import { filledCopy, fillWithAll, proven } from '../../contract/readModelsProof.js';

const directory = mkdtempSync(join(tmpdir(), 'small-tables-'));
const file = join(directory, 'readmodels.db');
afterAll(() => rmSync(directory, { recursive: true }));

/** Names of the table's own tables and indexes, without those that belong to a full-text index. */
function objects(): readonly string[] {
  const db = openSqlite(file);
  const names = db
    .prepare<[], string>("SELECT name FROM sqlite_master WHERE name GLOB '[rdb]1' OR name GLOB 'r1_[a-z]*' ORDER BY 1")
    .pluck()
    .all();
  db.close();
  return names.filter((name) => !/_(config|data|docsize|idx)$/.test(name));
}

test('the record that makes a table large makes its indexes, also those of fields that were added before', async () => {
  const writer = await openSqliteReadModelWriter({ file, smallRows: 3 });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const add = (...numbers: readonly number[]) => {
    const changes = numbers.map((n) => insert(n, { name: `Place ${n}` }));
    const last = numbers.at(-1) ?? 0;
    return write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: last, at: at(last) }));
  };
  const named = async (text: string) => (await found(readModels, { filters: [contains('name', text)] })).records;
  try {
    await fill(writer, [insert(1, { name: 'Place 1' })]);
    await write(writer, () => writer.defineTable(acmePlaces, placesWithRegion));
    await add(2, 3);
    expect(objects()).toEqual(['b1', 'd1', 'r1', 'r1_id', 'r1_u']);
    expect(await named('place')).toEqual(['C1', 'C2', 'C3']);

    await add(4);
    expect(objects()).toEqual(expect.arrayContaining(['r1_created_at', 'r1_t0', 'r1_t1', 'r1_updated_at']));
    expect(await named('place')).toEqual(['C1', 'C2', 'C3', 'C4']);
    expect(await named('lace 2')).toEqual(['C2']);
  } finally {
    await readModels.close();
    await writer.close();
  }
});

test('records that came about in all ways stand the proof in a table that grew, and in its copy', async () => {
  const writer = await openSqliteReadModelWriter({ file: join(directory, 'proven.db'), smallRows: 10 });
  await fillWithAll(writer);
  const copy = await filledCopy(writer, 'records');
  const { differences, records } = await proven(copy);
  await copy.abandon();
  await writer.close();
  expect(differences).toEqual([]);
  expect(records).toBe(31);
});
