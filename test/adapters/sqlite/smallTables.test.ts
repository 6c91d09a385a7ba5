/** A table of few records has them in tables that all small ones share; with more it gets its own, and answers as before. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { SMALL_BYTES } from '#app/adapters/readmodels/shared/smallTables.js';
import { SMALL_CELLS } from '#app/adapters/readmodels/sqlite/ddl.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { SMALL_TABLES } from '#app/adapters/readmodels/sqlite/tableStorage.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  openedOnce,
  places,
  placesWithRegion,
  write,
} from '../../contract/readModelsFixture.js';
import { describeLayouts } from '../../contract/readModelsLayouts.js';
import { describeLists } from '../../contract/readModelsLists.js';
import { filledCopy, fillWithAll, proven } from '../../contract/readModelsProof.js';

import { textField } from '../../fixtures/textField.js';

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

function count(of: string, sql: string): unknown {
  const db = openSqlite(of);
  const found = db.prepare(sql).pluck().get();
  db.close();
  return found;
}

/** How many rows the shared tables have. */
const rowsShared = (of = file): readonly unknown[] =>
  SMALL_TABLES.map((name) => count(of, `SELECT count(*) FROM ${name}`));

const opened = openedOnce(async () => {
  const of = join(directory, 'contract.db');
  const another = () => openSqliteReadModelWriter({ file: of });
  const [readModels, writer] = await Promise.all([openSqliteReadModels({ file: of, readers: 1 }), another()]);
  return { readModels, writer, anotherWriter: another, refusedNotes: () => '' };
});
describeLists('SQLite, tables that lack their indexes yet', opened);
describeLayouts('SQLite, tables that lack their indexes yet', opened);

test('the record that makes a table large makes its own tables, also with fields that were added before', async () => {
  const writer = await openSqliteReadModelWriter({ file, smallRows: 3 });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const add = (...numbers: readonly number[]) => {
    const changes = numbers.map((n) => insert(n, { name: `Place ${n}` }, `batch ${n}`));
    const last = numbers.at(-1) ?? 0;
    return write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: last, at: at(last) }));
  };
  const named = async (text: string) => (await found(readModels, { filters: [contains('name', text)] })).records;
  try {
    await fill(writer, [insert(1, { name: 'Place 1' })]);
    await write(writer, () => writer.defineTable(acmePlaces, placesWithRegion));
    await add(2, 3);
    expect(objects()).toEqual([]);
    expect(rowsShared()).toEqual([3, 3, 3]);
    expect(await named('place')).toEqual(['C1', 'C2', 'C3']);

    await add(4);
    expect(objects()).toEqual(expect.arrayContaining(['b1', 'd1', 'r1', 'r1_id', 'r1_t0', 'r1_t1', 'r1_updated_at']));
    expect(rowsShared()).toEqual([0, 0, 0]);
    expect(await named('place')).toEqual(['C1', 'C2', 'C3', 'C4']);
    expect(await named('lace 2')).toEqual(['C2']);
    const { records } = await readModels.snapshot(acmePlaces, { keys: ['C1', 'C3'], ids: [] });
    expect(records.map(({ batchId }) => batchId)).toEqual([null, 'batch 3']);
  } finally {
    await readModels.close();
    await writer.close();
  }
});

test('so does the record that makes its documents too many bytes to be indexed at once', async () => {
  const own = join(directory, 'bytes.db');
  const writer = await openSqliteReadModelWriter({ file: own });
  const notes = 'x'.repeat(SMALL_BYTES / 4);
  await fill(writer, [insert(1, { notes }), insert(2, { notes }), insert(3, { notes })]);
  const apply = (revision: number, ...changes: Parameters<typeof writer.applyToTable>[1]) =>
    write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: at(9) }));
  const patch = { kind: 'patch', id: id(1), at: at(9), set: { name: 'Harbour' } } as const;
  // Written again, or deleted, they are no more than before.
  await apply(1, patch, patch, { kind: 'delete', id: id(2) }, insert(4, { notes }));
  expect(rowsShared(own)).toEqual([3, 3, 3]);
  await apply(2, insert(5, { notes: `${notes} and more` }));
  expect(rowsShared(own)).toEqual([0, 0, 0]);
  await writer.close();
});

test('what is discarded, or deleted by clean-ups, of a small table leaves the rows of others, and makes no tables', async () => {
  const own = join(directory, 'discarded.db');
  const writer = await openSqliteReadModelWriter({ file: own });
  const other = { tenant: 'other', table: 'places' };
  await fill(writer, [insert(1, {}), insert(2, {})]);
  await write(writer, async () => {
    await writer.defineTable(other, places);
    await writer.applyToTable(other, [insert(3, {}, 'kept'), insert(4, {})], { revision: 1, at: at(4) });
  });
  await write(writer, () => writer.dropTenant('records', 'acme'));
  while (await writer.clearDropped());
  expect(rowsShared(own)).toEqual([2, 2, 2]);
  await write(writer, () =>
    writer.applyToTable(other, [{ kind: 'cleanUp', batchId: 'kept' }], { revision: 2, at: at(5) }),
  );
  expect(rowsShared(own)).toEqual([1, 1, 1]);
  await write(writer, () =>
    writer.applyToTable(other, [{ kind: 'cleanUp', batchId: 'another' }], { revision: 3, at: at(6) }),
  );
  expect(rowsShared(own)).toEqual([0, 0, 0]);
  expect(count(own, 'SELECT count(*) FROM cleaned_up_records')).toBe(2);
  expect(count(own, "SELECT count(*) FROM sqlite_master WHERE name GLOB '[rdbs][0-9]*'")).toBe(0);
  await write(writer, () => writer.dropTenant('records', 'other'));
  while (await writer.clearDropped());
  expect(count(own, 'SELECT count(*) FROM cleaned_up_records')).toBe(0);
  await writer.close();
});

describe('a table of more columns than the shared one has', () => {
  const wide: AssetType = {
    ...places,
    fields: [textField('code'), ...Array.from({ length: SMALL_CELLS }, (_, n) => textField(`field${n}`))],
  };
  const lastField = `field${SMALL_CELLS - 1}`;

  test.each([
    ['begins with its own', 0],
    ['gets them with the field that is too much', 400],
  ])('%s', async (_name, count) => {
    const own = join(directory, `wide-${count}.db`);
    const writer = await openSqliteReadModelWriter({ file: own });
    const readModels = await openSqliteReadModels({ file: own, readers: 1 });
    try {
      await fill(
        writer,
        Array.from({ length: count }, (_, n) => insert(n + 1, {})),
      );
      // One of many, which is looked up and not searched for.
      const last = async () => (await found(readModels, { filters: [contains('code', `c${count}`)] })).records;
      const before = await last();
      expect(before).toEqual(count === 0 ? [] : [`C${count}`]);
      await write(writer, () => writer.defineTable(acmePlaces, wide));
      expect(await last()).toEqual(before);
      await write(writer, () =>
        writer.applyToTable(acmePlaces, [insert(999, { [lastField]: 'the last' })], { revision: 9, at: at(9) }),
      );
      expect(rowsShared(own)).toEqual([0, 0, 0]);
      expect((await found(readModels, { filters: [contains(lastField, 'the')] })).records).toEqual(['C999']);
      expect((await found(readModels, {})).total).toBe(count + 1);
    } finally {
      await readModels.close();
      await writer.close();
    }
  });
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
