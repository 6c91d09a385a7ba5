/** A table of few records has them in a collection that all small ones share; with more it gets its own, and answers as before. */
import { Collection, type Db, type Document, MongoClient, MongoServerError } from 'mongodb';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { SMALL_BYTES } from '#app/adapters/readmodels/shared/smallTables.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { TableRef } from '#app/ports/readModels.js';
import type { ReadModelWriter, RebuildableReadModels } from '#app/ports/readModelWriter.js';
import type { ReadModels } from '#app/ports/readSide.js';
import {
  acmePlaces,
  at,
  contains,
  fill,
  found,
  id,
  insert,
  placesWithRegion,
  write,
} from '../../contract/readModelsFixture.js';
import { filledCopy, fillWithAll, proven } from '../../contract/readModelsProof.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';

type Stored = Document & { readonly _id: string };
const otherPlaces: TableRef = { tenant: 'other', table: 'places' };

describeEngine('mongodb', 'small tables on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let client: MongoClient;
  let db: Db;
  let writer: ReadModelWriter & RebuildableReadModels;
  let readModels: ReadModels;
  const smallRows = 3;

  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  beforeEach(async () => {
    const url = mongoDb.freshUrl();
    client = await MongoClient.connect(url);
    db = client.db();
    writer = await openMongoReadModelWriter({ url, smallRows, leaseMs: 100 });
    readModels = await openMongoReadModels({ url });
  });
  afterEach(async () => {
    await Promise.all([writer, readModels, client].map((each) => each.close()));
  });
  afterAll(() => mongoDb.dispose());

  const apply = (revision: number, changes: readonly RecordChange[], table = acmePlaces) =>
    write(writer, () => writer.applyToTable(table, changes, { revision, at: at(revision) }));
  const named = async (text: string) => (await found(readModels, { filters: [contains('name', text)] })).records;
  const inSmall = () => db.collection<Stored>('small_records').find({}).toArray();
  const ownCollections = async () =>
    (await db.listCollections().toArray()).map(({ name }) => name).filter((name) => name.startsWith('records_'));
  const entryOf = async ({ tenant }: TableRef) =>
    db.collection<Stored>('catalog').findOne({ tenant, kind: 'records', rebuild: null });
  const place = (n: number) => insert(n, { name: `Place ${n}` });

  test('the record that makes a table large makes its collection, also with fields that were added before', async () => {
    await fill(writer, [place(1)]);
    await write(writer, () => writer.defineTable(acmePlaces, placesWithRegion));
    await apply(6, [place(2), place(3)]);
    expect(await ownCollections()).toEqual([]);
    expect((await inSmall()).every((record) => record.of !== undefined && record.g === undefined)).toBe(true);
    expect(await named('lace')).toEqual(['C1', 'C2', 'C3']);
    expect((await db.collection('small_records').indexes()).map(({ name }) => name)).toEqual(['_id_', 'key']);

    await apply(7, [place(4)]);
    const [own = ''] = await ownCollections();
    expect(await inSmall()).toEqual([]);
    expect((await db.collection(own).indexes()).length).toBeGreaterThan(5);
    expect(await named('lace')).toEqual(['C1', 'C2', 'C3', 'C4']);
    expect(await named('lace 2')).toEqual(['C2']);
    expect(await db.collection(own).countDocuments({ g: '1:lac' })).toBe(4);
  });

  test('a record that cannot be stored with the keys of a large table parks its tenant, and no other', async () => {
    await fill(writer, [place(1), place(2)]);
    const tooLarge = new MongoServerError({ code: 10_334, message: 'BSONObj size is invalid' });
    const stored = jest.spyOn(Collection.prototype, 'insertMany').mockRejectedValueOnce(tooLarge);
    const committed = apply(6, [place(3), place(4)]).catch((error: unknown) => error);
    expect(await committed).toMatchObject({
      name: 'MismatchError',
      mismatch: { tenant: 'acme', table: 'places', projection: 'records', refused: `record ${id(1)}` },
    });
    stored.mockRestore();
    await writer.rollback();
    await fill(writer, [place(1)], otherPlaces);
    expect(await named('lace')).toEqual(['C1', 'C2']);
  });

  test('so does the record that makes its documents too many bytes', async () => {
    const notes = 'x'.repeat(SMALL_BYTES / 2);
    await fill(writer, [insert(1, { notes })]);
    await apply(6, [{ kind: 'patch', id: id(1), at: at(6), set: { notes: `${notes}.` } }]);
    expect(await ownCollections()).toEqual([]);
    await apply(7, [insert(2, { notes })]);
    expect(await ownCollections()).toHaveLength(1);
  });

  test('tables with the same ids do not see each other, and what is dropped or cleaned up is of one', async () => {
    await fill(writer, [place(1), place(2)]);
    await fill(writer, [insert(1, { name: 'Other' }, 'kept'), insert(2, {})], otherPlaces);
    await apply(9, [{ kind: 'cleanUp', batchId: 'kept' }], otherPlaces);
    expect(await named('')).toEqual(['C1', 'C2']);
    expect(await inSmall()).toHaveLength(3);
    expect(await db.collection('cleaned_up_records').countDocuments()).toBe(1);
    await write(writer, () => writer.dropTenant('records', 'other'));
    while (await writer.clearDropped());
    expect(await inSmall()).toHaveLength(2);
    expect(await db.collection('cleaned_up_records').countDocuments()).toBe(0);
    expect(await named('lace')).toEqual(['C1', 'C2']);
  });

  test('what a writer that was replaced in the middle of a commit still writes is not read', async () => {
    await fill(writer, [place(1), place(2)]);
    const before = await entryOf(acmePlaces);
    await db.collection<Stored>('catalog').updateMany({}, { $set: { applying: true } });
    const next = await openMongoReadModelWriter({ url: urlOf(client, db), smallRows, owner: 'next' });
    await writer.close();
    await next.begin();
    await next.rollback();
    const after = await entryOf(acmePlaces);
    expect(after).toMatchObject({
      collection: 'small_records',
      moving: null,
      of: expect.not.stringMatching(before?.of),
    });
    const [record] = await inSmall();
    await db.collection<Stored>('small_records').insertOne({ ...record, _id: `${before?.of}.late`, of: before?.of });
    expect(await named('lace')).toEqual(['C1', 'C2']);
    while (await next.clearDropped());
    expect((await inSmall()).map(({ of }) => of)).toEqual([after?.of, after?.of]);
    await next.close();
  });

  test('a table whose writer died while it grew serves as before, and grows in another collection', async () => {
    await fill(writer, [place(1), place(2), place(3)]);
    const half = `records_${'a'.repeat(24)}`;
    await db.collection<Stored>(half).insertOne({ _id: 'half' });
    await db.collection<Stored>('catalog').updateMany({ kind: 'records' }, { $set: { growing: half } });
    expect(await named('lace')).toEqual(['C1', 'C2', 'C3']);
    await apply(9, [place(4)]);
    expect(await named('lace')).toEqual(['C1', 'C2', 'C3', 'C4']);
    while (await writer.clearDropped());
    expect(await ownCollections()).toEqual([(await entryOf(acmePlaces))?.collection]);
    expect(await ownCollections()).not.toContain(half);
  });

  test('records that came about in all ways stand the proof in a table that grew, and in its copy', async () => {
    await fillWithAll(writer);
    const copy = await filledCopy(writer, 'records');
    const { differences, records } = await proven(copy);
    await copy.abandon();
    expect(differences).toEqual([]);
    expect(records).toBe(31);
  });
});

const urlOf = ({ options }: MongoClient, { databaseName }: Db): string =>
  `mongodb://${options.hosts.map(String).join()}/${databaseName}`;
