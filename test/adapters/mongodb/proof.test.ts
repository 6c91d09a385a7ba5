import { setTimeout as wait } from 'node:timers/promises';
import { type Collection, type Db, type Document, MongoClient } from 'mongodb';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import type { Difference } from '#app/ports/readModelProof.js';
import type { RebuildScope } from '#app/ports/readModelWriter.js';
import { id } from '../../contract/readModelsFixture.js';
import { filledCopy, fillWithAll, proven } from '../../contract/readModelsProof.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';

type Stored = Document & { readonly _id: string };
type Damage = (collection: Collection<Stored>, db: Db) => Promise<unknown>;

const catalog = (db: Db) => db.collection<Stored>('catalog');

describeEngine('mongodb', 'the proof of read models on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  /** What is found after a collection that is served was damaged by hand. */
  async function foundAfter(projection: RebuildScope['projection'], damage: Damage): Promise<readonly Difference[]> {
    const url = mongoDb.freshUrl();
    const writer = await openMongoReadModelWriter({ url, smallRows: 0 });
    await fillWithAll(writer);
    const client = await MongoClient.connect(url);
    const db = client.db(new URL(url).pathname.slice(1) || 'dynamic_assets');
    await writer.mergeIndexes();
    while ((await catalog(db).findOne({ indexing: true })) !== null) await wait(5);
    const copy = await filledCopy(writer, projection);
    const kind = { records: 'records', order_history: 'history', deliveries: 'deliveries', activity: 'activity' }[
      projection
    ];
    const entry = await catalog(db).findOne({ kind, rebuild: null, made: true });
    await damage(db.collection<Stored>(entry?.collection), db);
    const { differences } = await proven(copy);
    await client.close();
    await copy.abandon();
    await writer.close();
    return differences;
  }

  const named = (found: readonly Difference[]) => found.map(({ record, kind, detail }) => [record, kind, detail]);
  const placeOf = (n: number) => [n, n].map((each) => String(each).padStart(16, '0')).join(' ');
  const set =
    (_id: string, $set: Document): Damage =>
    (collection) =>
      collection.updateOne({ _id }, { $set });

  test.each<[string, Damage, [string | null, string, RegExp][]]>([
    ['a record is gone', (c) => c.deleteOne({ _id: id(2) }), [[id(2), 'missing', /the log makes it/i]]],
    [
      'a record is too many',
      async (c) => {
        const { _id, ...copied } = (await c.findOne({ _id: id(2) })) ?? { _id: '' };
        await c.insertOne({ _id: id(90), ...copied });
      },
      [[id(90), 'unexpected', /log does not make it/]],
    ],
    [
      'a record is of other text',
      set(id(2), { d: '"code":"C2","name":"Other"', w: 2 }),
      [
        [id(2), 'different', /: name, size, open/],
        [id(2), 'different', /f1, f2, f3, g|f1/],
      ],
    ],
    ['a record is no JSON', set(id(2), { d: 'x' }), [[id(2), 'different', /no JSON/]]],
    ['a batch is another one', set(id(2), { b: 'z' }), [[id(2), 'different', /_batch_id/]]],
    ['a derived value does not fit', set(id(2), { f1: 'x' }), [[id(2), 'different', /do not fit the record: f1/]]],
    ['n-grams are gone', set(id(2), { g: [] }), [[id(2), 'different', /do not fit the record: g/]]],
    ['an index is gone', (c) => c.dropIndex('grams'), [[null, 'missing', /index grams is missing/]]],
    [
      'the catalog counts wrongly',
      (_, db) => catalog(db).updateOne({ kind: 'records', rebuild: null, made: true }, { $set: { count: 9 } }),
      [[null, 'different', /count is 9; by the log 31/]],
    ],
  ])('records: %s', async (_, damage, expected) => {
    const found = named(await foundAfter('records', damage));
    expect(found).toEqual(expected.map(([record, kind, detail]) => [record, kind, expect.stringMatching(detail)]));
  });

  test.each<[RebuildScope['projection'], Damage, [string | null, string, RegExp][]]>([
    ['order_history', (c) => c.deleteOne({ _id: `${id(1)}.11` }), [[`${id(1)} 11`, 'missing', /./]]],
    ['order_history', set(`${id(1)}.11`, { n: 5 }), [[`${id(1)} 11`, 'different', /fit the entry: n/]]],
    [
      'order_history',
      set(`${id(1)}.11`, { e: '{}' }),
      [
        [`${id(1)} 11`, 'different', /the entry/],
        [`${id(1)} 11`, 'different', /no JSON/],
      ],
    ],
    ['deliveries', set(`d.${id(2)}`, { s: 'open' }), [[id(2), 'different', /fit the entry: s/]]],
    ['deliveries', (c) => c.deleteOne({ _id: `d.${id(2)}` }), [[id(2), 'missing', /./]]],
    ['deliveries', set('w.hook', { ok: null }), [['hook', 'different', /ok/]]],
    ['deliveries', (c) => c.dropIndex('ended'), [[null, 'missing', /index ended/]]],
    ['activity', (c) => c.deleteOne({ p: 2 }), [[`${placeOf(2)}`, 'missing', /./]]],
    [
      'activity',
      (c) => c.updateOne({ p: 2 }, { $set: { c: 5 } }),
      [[`${placeOf(2)}`, 'different', /fit the entry: c/]],
    ],
    ['activity', (c) => c.dropIndex('o'), [[null, 'missing', /index o is/]]],
  ])('%s that are damaged are named', async (projection, damage, expected) => {
    const found = named(await foundAfter(projection, damage));
    expect(found).toEqual(expected.map(([record, kind, detail]) => [record, kind, expect.stringMatching(detail)]));
  });
});
