/** What the trigram indexes have of one record is limited, however it got its texts; filters find all of it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { MAX_INDEXED_CHARACTERS } from '#app/domain/limits.js';
import { acmePlaces, at, contains, found, id, insert, places, write } from '../../contract/readModelsFixture.js';
import { textField } from '../../fixtures/textField.js';

const directory = mkdtempSync(join(tmpdir(), 'long-texts-'));
afterAll(() => rmSync(directory, { recursive: true }));

const story = textField('story', { type: 'LongText', sortable: false });
const plot = textField('plot', { type: 'LongText', sortable: false });
const withStory: AssetType = { ...places, fields: [...places.fields, story] };
const withPlot: AssetType = { ...withStory, fields: [...withStory.fields, plot] };

/** A text that begins with `start`, as long as this share of what is indexed of a record. */
const long = (start: string, share: number): string => start.padEnd(share * MAX_INDEXED_CHARACTERS, ' again');

/** Trigrams of all records in an index. */
function trigrams(file: string, index: string): number {
  const db = openSqlite(file);
  db.exec(`CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, ${index}, 'row')`);
  const count = db.prepare<[], number>('SELECT total(cnt) FROM temp.words').pluck().get() ?? 0;
  db.close();
  return count;
}

test.each([
  ['a table with all its indexes', 0],
  ['one that gets them with its second record', 1],
])('%s', async (_, smallRows) => {
  const file = join(directory, `${smallRows}.db`);
  const writer = await openSqliteReadModelWriter({ file, smallRows });
  const readModels = await openSqliteReadModels({ file, readers: 1 });
  let revision = 0;
  const apply = (...changes: Parameters<typeof writer.applyToTable>[1]) => {
    revision += 1;
    return write(writer, () => writer.applyToTable(acmePlaces, changes, { revision, at: at(revision) }));
  };
  const set = (fields: Fields) => apply({ kind: 'patch', id: id(1), at: at(9), set: fields });
  const having = async (field: string, part: string) =>
    (await found(readModels, { filters: [contains(field, part)] })).records;
  try {
    await write(writer, () => writer.defineTable(acmePlaces, withStory));
    await apply(insert(1, { name: 'Harbour', story: long('Once upon', 1.1) }));
    await write(writer, () => writer.defineTable(acmePlaces, withPlot));
    await apply(insert(2, { name: 'Once' }));
    expect(trigrams(file, 'r1_t0')).toBeLessThan(100);
    expect(await having('story', 'once UPON')).toEqual(['C1']);
    expect(await having('story', 'once upont')).toEqual([]);
    expect(await having('name', 'once')).toEqual(['C2']);

    // The first text is indexed now, and leaves too little for the second one.
    await set({ story: long('Many years ago', 0.7), plot: long('A ship', 0.7) });
    expect(trigrams(file, 'r1_t0')).toBeGreaterThan(0.69 * MAX_INDEXED_CHARACTERS);
    expect(trigrams(file, 'r1_t1')).toBe(1);
    // The second is, without a change of its own.
    await set({ story: null });
    expect(trigrams(file, 'r1_t1')).toBeGreaterThan(0.69 * MAX_INDEXED_CHARACTERS);
    expect(await having('plot', 'a ship')).toEqual(['C1']);
    expect(await having('story', 'again')).toEqual([]);
  } finally {
    await readModels.close();
    await writer.close();
  }
});
