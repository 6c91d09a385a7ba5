import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { Difference } from '#app/ports/readModelProof.js';
import type { RebuildScope } from '#app/ports/readModelWriter.js';
import { id } from '../../contract/readModelsFixture.js';
import { filledCopy, fillWithAll, proven } from '../../contract/readModelsProof.js';

const directory = mkdtempSync(join(tmpdir(), 'proof-'));
afterAll(() => rmSync(directory, { recursive: true }));

let number = 0;

/** What is found after what is served was damaged by hand: its first table is of the records, row 1 has `id(0)`. */
async function foundAfter(
  damage: readonly string[],
  projection: RebuildScope['projection'] = 'records',
  smallRows = 0,
): Promise<readonly Difference[]> {
  number += 1;
  const file = join(directory, `${number}.db`);
  const writer = await openSqliteReadModelWriter({ file, smallRows });
  await fillWithAll(writer);
  const copy = await filledCopy(writer, projection);
  for (const sql of damage) {
    // A connection of its own for each: one that changes the schema by hand is no more use.
    const db = openSqlite(file);
    db.unsafeMode(true);
    db.pragma('writable_schema = ON');
    db.exec(sql);
    db.close();
  }
  const { differences } = await proven(copy);
  await copy.abandon();
  await writer.close();
  return differences;
}

const places = (found: readonly Difference[]) =>
  found.map(({ place, record, kind }) => [place, record, kind].filter((part) => part !== null).join(' ')).sort();

test('ten entries that are gone from a full-text index are named, each with its record', async () => {
  const found = await foundAfter(['DELETE FROM r1_t0 WHERE rowid BETWEEN 11 AND 20']);
  const ids = Array.from({ length: 10 }, (_, n) => id(10 + n));
  expect(places(found)).toEqual(ids.map((each) => `r1_t0 ${each} missing`));
  expect(found[0]).toMatchObject({
    tenant: 'acme',
    table: 'places',
    detail: expect.stringContaining('full-text index'),
  });
});

test.each([
  ['a batch is gone', 'DELETE FROM b1 WHERE row = 3', [`b1 ${id(2)} missing`]],
  ['a batch is another one', 'UPDATE b1 SET batch = 0 WHERE row = 3', [`r1 ${id(2)} different`]],
  ['a batch is none', 'UPDATE b1 SET batch = 77 WHERE row = 3', [`b1 ${id(2)} different`, `r1 ${id(2)} different`]],
  ['a batch is of no record', 'INSERT INTO b1 VALUES (999, 0)', ['b1 unexpected']],
  ['a document is gone', 'DELETE FROM d1 WHERE row = 3', [`d1 ${id(2)} missing`]],
  ['a document is no JSON', "UPDATE d1 SET doc = 'x' WHERE row = 3", [`d1 ${id(2)} different`]],
  [
    'a time has moved',
    'UPDATE r1 SET updated_at = 5 WHERE row = 3',
    [`d1 ${id(2)} different`, `r1 ${id(2)} different`],
  ],
  ['the time beside a document has moved', 'UPDATE d1 SET updated_at = 5 WHERE row = 3', [`d1 ${id(2)} different`]],
  ["another record's id is beside a document", "UPDATE d1 SET id = x'00' WHERE row = 3", [`d1 ${id(2)} different`]],
  ['a column does not fit', "UPDATE r1 SET c1 = 'x' WHERE row = 3", [`r1 ${id(2)} different`]],
  ['a number does not fit', 'UPDATE r1 SET c2 = 5.5 WHERE row = 3', [`r1 ${id(2)} different`]],
  [
    'the catalog counts wrongly',
    'UPDATE catalog SET row_count = 9 WHERE id = 1',
    ['catalog different', 'catalog different'],
  ],
  ['an index is gone', 'DROP INDEX r1_c1', ['r1_c1 missing']],
  ['a table is gone', 'DROP TABLE r1_t0', ['r1_t0 missing', 'r1_t0_docsize missing']],
  [
    'the entry of other text',
    "DELETE FROM r1_t0 WHERE rowid = 3; INSERT INTO r1_t0 (rowid, tc1) VALUES (3, 'other')",
    [`r1_t0 ${id(2)} different`],
  ],
] as const)('records: %s', async (_, damage, expected) => {
  expect(places(await foundAfter([damage]))).toEqual(expected);
});

test.each([
  ['a batch is gone', 'DELETE FROM small_batches WHERE owner = 1 AND row = 3', [`small_batches ${id(2)} missing`]],
  ['a batch is of no record', 'INSERT INTO small_batches VALUES (1, 999, 0)', ['small_batches unexpected']],
  ['a document is gone', 'DELETE FROM small_docs WHERE owner = 1 AND row = 3', [`small_docs ${id(2)} missing`]],
  [
    'a column does not fit',
    "UPDATE small_records SET v1 = 'x' WHERE owner = 1 AND row = 3",
    [`small_records ${id(2)} different`],
  ],
  [
    'a record is gone',
    'DELETE FROM small_records WHERE owner = 1 AND row = 3',
    ['catalog different', 'small_batches unexpected', 'small_docs unexpected', `small_records ${id(2)} missing`],
  ],
] as const)('records of a small table: %s', async (_, damage, expected) => {
  expect(places(await foundAfter([damage], 'records', 1_000))).toEqual(expected);
});

test('ten entries that are gone from an index that small tables share are told', async () => {
  const columns = 'owner, row, id, created_at, updated_at, u';
  const found = await foundAfter(
    [
      "CREATE TABLE kept AS SELECT * FROM sqlite_master WHERE name = 'small_records_id'",
      "DELETE FROM sqlite_master WHERE name = 'small_records_id'",
      `INSERT INTO small_records (${columns}) SELECT 7, ${columns.slice(7)} FROM small_records WHERE owner = 1 LIMIT 10`,
      'INSERT INTO sqlite_master SELECT * FROM kept',
    ],
    'records',
    1_000,
  );
  expect(places(found)).toContain('small_records different');
  expect(found.map(({ detail }) => detail).join()).toMatch(/missing from index small_records_id/);
});

test('an entry that is gone from an index of what clean-ups deleted is told', async () => {
  const found = await foundAfter([
    "CREATE TABLE kept AS SELECT * FROM sqlite_master WHERE name = 'cleaned_up_records_u'",
    "DELETE FROM sqlite_master WHERE name = 'cleaned_up_records_u'",
    "INSERT INTO cleaned_up_records (owner, u, id, revision, batch, width, doc, at) VALUES (7, 'K', x'07', 1, 0, 0, '', '2026-11-21T03:11:47.000000Z')",
    'INSERT INTO sqlite_master SELECT * FROM kept',
  ]);
  // That it is missing, and how many entries there are.
  expect(places(found)).toEqual(['cleaned_up_records different', 'cleaned_up_records different']);
  expect(found.map(({ detail }) => detail).join()).toMatch(/missing from index cleaned_up_records_u/);
});

test('a record that is changed, and one that is gone, are named with all that is left of them', async () => {
  const changed = await foundAfter([`UPDATE d1 SET doc = replace(doc, '"Place 2"', '"Place X"') WHERE row = 3`]);
  expect(places(changed)).toEqual([`r1 ${id(2)} different`, `r1 ${id(2)} different`]);
  expect(changed.map(({ detail }) => detail).join()).toMatch(
    /Not what the log makes: name.*do not fit the document: c1/,
  );
  expect(places(await foundAfter(['DELETE FROM r1 WHERE row = 3']))).toEqual(
    ['b1 unexpected', 'catalog different', 'd1 unexpected', `r1 ${id(2)} missing`, 'r1_t0 unexpected'].sort(),
  );
});

test('what SQLite finds in a table and its indexes is told', async () => {
  const hidden = await foundAfter([
    "CREATE TABLE kept AS SELECT * FROM sqlite_master WHERE name = 'r1_c1'",
    "DELETE FROM sqlite_master WHERE name = 'r1_c1'",
    "DELETE FROM r1 WHERE row = 3; INSERT INTO r1 (row, id, created_at, updated_at) VALUES (3, x'00', 1, 1)",
    'INSERT INTO sqlite_master SELECT * FROM kept',
  ]);
  expect(hidden.map(({ detail }) => detail).join()).toMatch(/row 3 missing from index r1_c1/);
  const damaged = await foundAfter(['DELETE FROM r1_t0_data WHERE id > 10']);
  expect(places(damaged)).toContain('r1_t0 different');
});

test.each([
  [
    'order_history',
    "UPDATE history_entries SET entry = replace(entry, 'OrderSaved', 'Other') WHERE history = 1 AND revision = 11",
    [`history_entries ${id(1)} 11 different`],
  ],
  [
    'order_history',
    'UPDATE history_entries SET revision = 12 WHERE history = 1 AND revision = 11',
    [`history_entries ${id(1)} 11 missing`, `history_entries ${id(1)} 12 unexpected`],
  ],
  [
    'order_history',
    'DELETE FROM histories WHERE copy = 0',
    [0, 1, 11]
      .map((n) => `history_entries ${id(1)} ${n} missing`)
      .concat(`history_entries ${id(2)} 0 missing`)
      .sort(),
  ],
  [
    'deliveries',
    `UPDATE deliveries SET state = 'open' WHERE log = 1 AND id = '${id(2)}'`,
    [`deliveries ${id(2)} different`],
  ],
  [
    'deliveries',
    `UPDATE deliveries SET webhook = 9 WHERE log = 1 AND id = '${id(2)}'`,
    [`deliveries ${id(2)} different`],
  ],
  ['deliveries', `DELETE FROM deliveries WHERE log = 1 AND id = '${id(2)}'`, [`deliveries ${id(2)} missing`]],
  [
    'deliveries',
    "UPDATE delivery_webhooks SET last_success_at = '2020' WHERE id = 1",
    ['delivery_webhooks hook different'],
  ],
  [
    'activity',
    'UPDATE activity_entries SET actor = 1 WHERE owner = 1 AND position = 2',
    ['activity_entries 2 2 different'],
  ],
  ['activity', 'DELETE FROM activity_entries WHERE owner = 1 AND position = 2', ['activity_entries 2 2 missing']],
  [
    'activity',
    "UPDATE activity_entries SET entry = replace(entry, 'ERP', 'Eve') WHERE owner = 1 AND position = 2",
    ['activity_entries 2 2 different'],
  ],
] as const)('%s: %s', async (projection, damage, expected) => {
  expect(places(await foundAfter([damage], projection))).toEqual(expected);
});
