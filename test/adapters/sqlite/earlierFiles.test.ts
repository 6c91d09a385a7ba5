/**
 * Read models of schema version 1, which counted n-grams and put two marks (ETX) behind each text in a trigram index. The
 * file was written by the last code of that version. It holds places 1 to 6 of the tenant acme: 1 and 2 of the batch
 * `kept`, the fifth with two such marks in its own name.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  contains,
  found,
  id,
  insert,
  places,
  placesWithRegion,
  query,
  write,
} from '../../contract/readModelsFixture.js';
import { grown } from '../../contract/readModelsLayouts.js';
import { proven } from '../../contract/readModelsProof.js';
import { textField } from '../../fixtures/textField.js';

const FIXTURE = new URL('../../fixtures/readModelsVersion1.db.gz', import.meta.url);

describe('a file of schema version 1', () => {
  let directory: string;
  let file: string;
  let readModels: ReadModels;
  let writer: Awaited<ReturnType<typeof openSqliteReadModelWriter>>;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'earlier-read-models-'));
    file = join(directory, 'readmodels.db');
    writeFileSync(file, gunzipSync(readFileSync(FIXTURE)));
    readModels = await openSqliteReadModels({ file, readers: 1 });
    writer = await openSqliteReadModelWriter({ file });
  });
  afterEach(async () => {
    await readModels.close();
    await writer.close();
    rmSync(directory, { recursive: true });
  });

  const named = async (...anyOf: string[]) =>
    (await found(readModels, { filters: [contains('name', ...anyOf)] })).records;
  const apply = (changes: Parameters<typeof writer.applyToTable>[1]) =>
    write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: 9, at: at(9) }));
  const tables = (): readonly unknown[] => {
    const db = openSqlite(file, { readonly: true });
    const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name").pluck().all();
    db.close();
    return names;
  };

  test('answers filters of any length, and those with the mark by the text itself', async () => {
    expect(await named('rot')).toEqual(['C1', 'C5']);
    expect(await named('o')).toEqual(['C1', 'C2', 'C5']);
    expect(await named('am')).toEqual(['C1', 'C3']);
    expect(await named('dam\u0003')).toEqual([]);
    expect(await named('m\u0003\u0003')).toEqual([]);
    expect(await named('ten\u0003\u0003')).toEqual(['C5']);
    expect(await readModels.checkpoint('records')).toBe(1);
  });

  test('takes new records, changed ones and new fields', async () => {
    await apply([
      insert(7, { name: 'Rotselaar' }),
      { kind: 'patch', id: id(1), at: at(8), set: { name: 'Dordrecht' } },
    ]);
    expect(await named('rot')).toEqual(['C5', 'C7']);
    expect(await named('dam')).toEqual(['C3']);
    expect(await named('rdr')).toEqual(['C1']);
    await write(writer, () => writer.defineTable(acmePlaces, placesWithRegion));
    await apply([insert(8, { name: 'Rotem', region: 'Limburg' })]);
    expect(await found(readModels, { filters: [contains('region', 'burg')] })).toEqual({ records: ['C8'], total: 1 });
  });

  test('takes fields of a newer release in the middle, and is laid out as that has the others', async () => {
    expect(await writer.outdatedTables('acme')).toEqual([]);
    await write(writer, () => writer.defineTable(acmePlaces, grown));
    await apply([insert(8, { name: 'Rotem', kind: 'Border', region: 'Limburg' })]);
    expect(await named('rot')).toEqual(['C1', 'C5', 'C8']);
    expect(await found(readModels, { filters: [contains('kind', 'orde')] })).toEqual({ records: ['C8'], total: 1 });
    expect(JSON.parse((await readModels.get(acmePlaces, id(1))) ?? '')).toMatchObject({
      name: 'Rotterdam',
      kind: null,
    });
    expect(await writer.outdatedTables('acme')).toEqual([]);
  });

  test('stands the proof: its full-text index is of the text that the records have', async () => {
    const copy = await writer.beginRebuild({ projection: 'records' });
    const changes = Array.from({ length: 6 }, (_, n) => insert(n + 1, {}));
    await write(copy.writer, async () => {
      await copy.writer.defineTable(acmePlaces, places);
      await copy.writer.applyToTable(acmePlaces, changes, { revision: 4, at: at(4) });
    });
    const { differences, records } = await proven(copy);
    await copy.abandon();
    expect(records).toBe(6);
    expect(differences.filter(({ detail }) => !/Not what the log makes|by the log/.test(detail))).toEqual([]);
  });

  test.each(['kept', 'none'])('is cleaned up (batch %s)', async (batchId) => {
    await apply([{ kind: 'cleanUp', batchId }]);
    expect((await found(readModels, {})).records).toEqual(batchId === 'kept' ? ['C1', 'C2'] : []);
    expect(await named('rot')).toEqual(batchId === 'kept' ? ['C1'] : []);
  });

  test('keeps nothing of the counts, and of the table nothing once it is discarded', async () => {
    expect(tables()).not.toContainEqual(expect.stringMatching(/^g1$|_v0$/));
    expect(tables()).toContain('r1_t0');
    await writer.reset('records');
    expect(tables()).not.toContainEqual(expect.stringMatching(/^[rdbg]1/));
  });

  test('is not opened when its version is newer than this release knows', async () => {
    const newer = join(directory, 'newer.db');
    const db = openSqlite(newer);
    db.pragma('user_version = 99');
    db.close();
    await expect(openSqliteReadModelWriter({ file: newer })).rejects.toThrow(ReadModelsUnavailableError);
  });
});

/**
 * In version 10 a small table had tables of its own, without most indexes. The file has the places 1, 2, 5 and 6 of the
 * tenant acme, after a clean-up that left the batch `kept`, a table of 31 fields with two records, and both without records.
 */
describe('a file of schema version 10', () => {
  const directory = mkdtempSync(join(tmpdir(), 'earlier-read-models-'));
  const file = join(directory, 'readmodels.db');
  let readModels: ReadModels;
  let writer: Awaited<ReturnType<typeof openSqliteReadModelWriter>>;

  beforeAll(async () => {
    writeFileSync(file, gunzipSync(readFileSync(new URL('../../fixtures/readModelsVersion10.db.gz', import.meta.url))));
    readModels = await openSqliteReadModels({ file, readers: 1 });
    writer = await openSqliteReadModelWriter({ file });
  });
  afterAll(async () => {
    await readModels.close();
    await writer.close();
    rmSync(directory, { recursive: true });
  });

  const tableOf = (id: number): readonly unknown[] => {
    const db = openSqlite(file, { readonly: true });
    const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name GLOB ? ORDER BY 1");
    const found = names.pluck().all(`[rdb]${id}`);
    db.close();
    return found;
  };

  test('has its small tables in the shared ones, and answers as before', async () => {
    expect(tableOf(1)).toEqual([]);
    expect((await found(readModels, { filters: [contains('name', 'rot')] })).records).toEqual(['C1', 'C5']);
    expect(JSON.parse((await readModels.get(acmePlaces, id(1))) ?? '')).toMatchObject({ name: 'Rotterdam', size: 1.5 });
    const { records, formerIds } = await readModels.snapshot(acmePlaces, { keys: ['C2', 'C3', 'C6'], ids: [] });
    expect(records.map(({ batchId }) => batchId)).toEqual(['kept', null]);
    expect([...formerIds]).toEqual([['C3', id(3)]]);
  });

  test('gives a table that has too many columns for them its indexes', async () => {
    const wide = { ...acmePlaces, table: 'wide' };
    const page = await readModels.list(wide, query({ filters: [contains('f29', 'the')] }));
    expect(page.total).toBe(1);
    expect(tableOf(2)).toEqual(['b2', 'd2', 'r2']);
    const db = openSqlite(file, { readonly: true });
    expect(db.prepare("SELECT count(*) FROM sqlite_master WHERE name = 'r2_t0'").pluck().get()).toBe(1);
    db.close();
  });

  test.each([
    ['places', [insert(9, {}), { kind: 'cleanUp', batchId: 'kept' } as const], 2],
    ['wide', [insert(9, { f29: 'The third' })], 3],
    ['empty', [insert(9, {})], 1],
    ['wide_empty', [insert(9, { f29: 'The third' })], 1],
  ] as const)('takes changes of the table %s', async (table, changes, total) => {
    const ref = { tenant: 'acme', table };
    await write(writer, () => writer.applyToTable(ref, changes, { revision: 9, at: at(9) }));
    expect((await readModels.list(ref, query())).total).toBe(total);
    expect(await writer.outdatedTables('acme')).toEqual([]);
  });
});

/**
 * In version 12 documents had nothing beside them. The file has the places 1 to 6 of the tenant acme as a large table, 1 and
 * 2 of the batch `kept`.
 */
describe('a file of schema version 12', () => {
  let directory: string;
  let file: string;
  let readModels: ReadModels;
  let writer: Awaited<ReturnType<typeof openSqliteReadModelWriter>>;

  beforeEach(async () => {
    directory = mkdtempSync(join(tmpdir(), 'earlier-read-models-'));
    file = join(directory, 'readmodels.db');
    writeFileSync(file, gunzipSync(readFileSync(new URL('../../fixtures/readModelsVersion12.db.gz', import.meta.url))));
    readModels = await openSqliteReadModels({ file, readers: 1 });
    writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
  });
  afterEach(async () => {
    await readModels.close();
    await writer.close();
    rmSync(directory, { recursive: true });
  });

  const HEADS = ['id', 'created_at', 'updated_at'];
  /** What the documents of a table have beside them. */
  function headsIn(id: number): readonly unknown[] {
    const db = openSqlite(file, { readonly: true });
    const columns = db.prepare(`SELECT name FROM pragma_table_info('d${id}')`).pluck().all();
    db.close();
    return HEADS.filter((name) => columns.includes(name));
  }

  const codes = (more: Partial<Parameters<typeof query>[0]> = {}) => found(readModels, more);

  test('answers as before, with what is written from now on', async () => {
    const changes = [
      insert(7, { name: 'Rotte' }),
      { kind: 'patch', id: id(1), at: at(8), set: { name: 'Dordrecht' } },
      { kind: 'delete', id: id(3) },
    ] as const;
    await write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: 9, at: at(9) }));
    expect(await codes({ sort: [{ field: 'name', direction: 'asc' }] })).toEqual({
      records: ['C2', 'C1', 'C4', 'C6', 'C7', 'C5'],
      total: 6,
    });
    expect((await codes({ filters: [contains('name', 'rot')] })).records).toEqual(['C6', 'C7']);
    const record = JSON.parse((await readModels.get(acmePlaces, id(1))) ?? '');
    expect(record).toMatchObject({ id: id(1), created_at: at(1), updated_at: at(8), name: 'Dordrecht' });
    const { records } = await readModels.snapshot(acmePlaces, { keys: ['C2'], ids: [id(7)] });
    expect(records.map(({ batchId, updatedAt }) => [batchId, updatedAt])).toEqual([
      ['kept', at(2)],
      [null, at(7)],
    ]);
    await write(writer, () =>
      writer.applyToTable(acmePlaces, [{ kind: 'cleanUp', batchId: 'none' }], { revision: 10, at: at(10) }),
    );
    expect((await codes()).total).toBe(0);
  });

  test('is rebuilt with the times beside its documents, and the copy is served', async () => {
    expect(headsIn(1)).toEqual([]);
    const copy = await writer.beginRebuild({ projection: 'records' });
    const again = [1, 2].map((n) => insert(n, { name: 'Again' }, 'kept'));
    await write(copy.writer, async () => {
      await copy.writer.defineTable(acmePlaces, places);
      await copy.writer.applyToTable(acmePlaces, again, { revision: 4, at: at(4) });
    });
    await copy.holdLive();
    await copy.swap();
    expect(headsIn(2)).toEqual(HEADS);
    expect(await codes({ sort: [{ field: 'code', direction: 'desc' }] })).toEqual({ records: ['C2', 'C1'], total: 2 });
  });
});

/** Until version 14 nobody noted which rows had changed. The file is that of version 12, with the times beside its documents. */
test('a file of schema version 13 answers as before, and says which rows move from now on', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'earlier-read-models-'));
  const file = join(directory, 'readmodels.db');
  writeFileSync(file, gunzipSync(readFileSync(new URL('../../fixtures/readModelsVersion13.db.gz', import.meta.url))));
  const writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  const bySize = { sort: [{ field: 'size', direction: 'desc' }] } as const;
  expect((await found(readModels, bySize)).records).toEqual(['C6', 'C5', 'C4', 'C3', 'C2', 'C1']);
  const changes = [
    { kind: 'patch', id: id(1), at: at(8), set: { size: 45 } },
    { kind: 'delete', id: id(3) },
    insert(7, { size: 5 }),
  ] as const;
  await write(writer, () => writer.applyToTable(acmePlaces, changes, { revision: 9, at: at(9) }));
  expect((await found(readModels, bySize)).records).toEqual(['C6', 'C5', 'C1', 'C4', 'C2', 'C7']);
  const db = openSqlite(file, { readonly: true });
  expect(db.prepare('SELECT row FROM moves ORDER BY row').pluck().all()).toEqual([1, 3]);
  db.close();
  await readModels.close();
  await writer.close();
  rmSync(directory, { recursive: true });
});

/** Until version 13 no layout had `hasHeads`: the table is small, and gets tables of its own from now on. */
describe('a small table of schema version 12', () => {
  const manyFields = Array.from({ length: 30 }, (_, n) => textField(`more${n}`));

  test.each([
    ['with its fourth record', [4], places],
    ['with more fields than the shared tables have', [], { ...places, fields: [...places.fields, ...manyFields] }],
  ])('grows %s', async (_, added, assetType) => {
    const directory = mkdtempSync(join(tmpdir(), 'earlier-read-models-'));
    const file = join(directory, 'readmodels.db');
    const earlier = await openSqliteReadModelWriter({ file });
    await write(earlier, async () => {
      await earlier.defineTable(acmePlaces, places);
      await earlier.applyToTable(
        acmePlaces,
        [1, 2, 3].map((n) => insert(n, { name: `Place ${n}` })),
        {
          revision: 1,
          at: at(1),
        },
      );
    });
    await earlier.close();
    const db = openSqlite(file);
    db.exec("UPDATE catalog SET layout = json_remove(layout, '$.hasHeads')");
    db.pragma('user_version = 12');
    db.close();

    const writer = await openSqliteReadModelWriter({ file, smallRows: 3 });
    const readModels = await openSqliteReadModels({ file, readers: 1 });
    const changes = [...added, 5].map((n) => insert(n, { name: `Place ${n}` }));
    const patch = { kind: 'patch', id: id(2), at: at(9), set: { name: 'Rotterdam' } } as const;
    await write(writer, async () => {
      await writer.defineTable(acmePlaces, assetType);
      await writer.applyToTable(acmePlaces, [...changes, patch], { revision: 2, at: at(2) });
    });
    expect((await found(readModels, {})).total).toBe(4 + added.length);
    expect((await found(readModels, { filters: [contains('name', 'rot')] })).records).toEqual(['C2']);
    const record = JSON.parse((await readModels.get(acmePlaces, id(2))) ?? '');
    expect(record).toMatchObject({ created_at: at(2), updated_at: at(9) });
    const copy = await writer.beginRebuild({ projection: 'records' });
    const { differences } = await proven(copy);
    await copy.abandon();
    expect(differences.filter(({ place }) => place === 'd1')).toEqual([]);
    await readModels.close();
    await writer.close();
    rmSync(directory, { recursive: true });
  });
});
