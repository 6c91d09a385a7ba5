/** What batches leave of a trigram index in several segments is merged while the table is calm, a bounded piece at a time. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { segmentSizes } from '#app/adapters/readmodels/sqlite/write/trigramMerger.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { acmePlaces, at, contains, found, id, insert, places, write } from '../../contract/readModelsFixture.js';

const INDEX = 'r1_t0';
/** Some 300 pages of trigrams. */
const BATCHES = 12;
const BATCH = 1_000;
/** With its header. */
const WAL_PAGE_BYTES = 4096 + 24;

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'trigram-merger-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

async function openFile() {
  const file = join(directory, 'readmodels.db');
  const writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  let revision = 0;
  const apply = (...changes: Parameters<typeof writer.applyToTable>[1]) => {
    revision += 1;
    return write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: at(revision) }));
  };
  const insertSome = (from: number, count = BATCH) =>
    apply(...Array.from({ length: count }, (_, n) => insert(from + n, { name: nameOf(from + n) })));
  const look = <Result>(read: (db: ReturnType<typeof openSqlite>) => Result): Result => {
    const db = openSqlite(file);
    try {
      return read(db);
    } finally {
      db.close();
    }
  };
  return {
    writer,
    apply,
    insertSome,
    look,
    walPages: () => statSync(`${file}-wal`).size / WAL_PAGE_BYTES,
    sizes: () => look((db) => segmentSizes(db, INDEX)),
    async fill() {
      await write(writer, () => writer.defineTable(acmePlaces, places));
      for (let n = 0; n < BATCHES; n++) await insertSome(n * BATCH);
    },
    /** Until nothing is left to do. @returns how many pieces that were */
    async merge() {
      let pieces = 0;
      while (await writer.mergeIndexes()) pieces += 1;
      return pieces;
    },
    named: async (text: string) => (await found(readModels, { filters: [contains('name', text)] })).total,
    async close() {
      await readModels.close();
      await writer.close();
    },
  };
}

/** Of characters that make many trigrams. */
const nameOf = (n: number): string =>
  `${((n * 7919) % 99_991).toString(36)} ${((n * 104_729) % 99_991).toString(36)} port`;

test('once a table is calm its segments become one, in pieces between which it is read and written', async () => {
  const file = await openFile();
  await file.fill();
  expect(file.sizes().length).toBeGreaterThan(2);
  // The first look only sees how large it is: it may be growing.
  expect(await file.merge()).toBe(0);
  const before = file.sizes();
  expect(before.length).toBeGreaterThan(2);

  await file.writer.mergeIndexes();
  await file.apply({ kind: 'patch', id: id(5), at: at(5), set: { name: 'Rotterdam' } }, { kind: 'delete', id: id(6) });
  expect(await file.named('port')).toBe(BATCHES * BATCH - 2);
  expect(await file.merge()).toBeGreaterThan(1);

  // The record that was written meanwhile may have a segment of its own.
  const [largest = 0, ...others] = file.sizes().toSorted((a, b) => b - a);
  expect(others.length).toBeLessThan(2);
  expect(largest).toBeGreaterThan(100);
  expect(await file.named('rotterdam')).toBe(1);
  expect(await file.named('port')).toBe(BATCHES * BATCH - 2);
  expect(await file.named(nameOf(6))).toBe(0);
  expect(await file.named(nameOf(11_999))).toBe(1);
  file.look((db) => db.exec(`INSERT INTO ${INDEX} (${INDEX}) VALUES ('integrity-check')`));
  await file.close();
});

test('no piece writes much', async () => {
  const file = await openFile();
  await file.fill();
  await file.merge();
  const written: number[] = [];
  for (let isMore = true; isMore; ) {
    const before = file.walPages();
    isMore = await file.writer.mergeIndexes();
    written.push(file.walPages() - before);
  }
  expect(written.length).toBeGreaterThan(4);
  expect(Math.max(...written)).toBeGreaterThan(50);
  expect(Math.max(...written)).toBeLessThan(150);
  await file.close();
});

test('a table that grows is left alone until it is calm, and one with little besides its largest segment as well', async () => {
  const file = await openFile();
  await file.fill();
  await file.merge();
  await file.insertSome(BATCHES * BATCH);
  expect(await file.merge()).toBe(0);
  expect(await file.merge()).toBeGreaterThan(1);
  expect(file.sizes()).toHaveLength(1);

  await file.insertSome((BATCHES + 1) * BATCH, 200);
  await file.merge();
  expect(await file.merge()).toBe(0);
  expect(file.sizes()).toHaveLength(2);
  await file.close();
});

test('what is merged may be removed while a piece waits for the file', async () => {
  const file = await openFile();
  await file.fill();
  await file.merge();
  const piece = file.look((other) => {
    other.exec('BEGIN IMMEDIATE');
    const waiting = file.writer.mergeIndexes();
    other.exec('UPDATE catalog SET copy = -id');
    other.exec('COMMIT');
    other.exec(`DROP TABLE ${INDEX}`);
    return waiting;
  });
  expect(await piece).toBe(true);
  expect(await file.merge()).toBe(1);
  expect(await file.merge()).toBe(0);
  await file.close();
});

test('an index that is damaged is left as it is, and the projector goes on', async () => {
  const file = await openFile();
  await file.fill();
  await file.merge();
  file.look((other) => {
    other.unsafeMode(true);
    other.exec(`UPDATE ${INDEX}_data SET block = zeroblob(20) WHERE id > 10`);
  });
  for (let look = 0; look < 4; look++) expect(await file.merge()).toBe(0);
  await file.close();
});

test('what is merged may be removed between two pieces', async () => {
  const file = await openFile();
  await file.fill();
  await file.merge();
  expect(await file.writer.mergeIndexes()).toBe(true);
  await write(file.writer, () => file.writer.dropTenant('records', acmePlaces.tenant));
  while (await file.writer.clearDropped());
  expect(await file.merge()).toBe(1);
  expect(await file.merge()).toBe(0);
  await file.close();
});
