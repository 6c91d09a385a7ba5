/** Which commands a list of a large table sends. */
import { type Document, MongoClient } from 'mongodb';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import type { RecordQuery } from '#app/ports/readModels.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { acmePlaces, contains, fill, found, insert } from '../../contract/readModelsFixture.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { MOMENT, MongoDbProxy } from '../../engines/mongoDbProxy.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';

/** Some pages, so that a page and the total are two commands. */
const RECORDS = 60;
/** A busy machine takes longer than usual for the few commands of a test. */
const wholeCommitsMs = 60_000;

describeEngine('mongodb', 'commands of lists on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let url: string;
  let client: MongoClient;
  let proxy: MongoDbProxy;
  let replicaSet: MongoDbProxy;
  let readModels: ReadModels;
  let ofReplicaSet: ReadModels;

  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    url = mongoDb.freshUrl();
    client = await MongoClient.connect(url);
    const writer = await openMongoReadModelWriter({ url, smallRows: 0 });
    const records = Array.from({ length: RECORDS }, (_, n) => insert(n, { name: `Place ${n}`, size: n }));
    await fill(writer, records);
    await writer.close();
    proxy = await MongoDbProxy.start(url);
    replicaSet = await MongoDbProxy.start(url, { tellsMoments: true });
    readModels = await openMongoReadModels({ url: proxy.through(url), wholeCommitsMs });
    ofReplicaSet = await openMongoReadModels({ url: replicaSet.through(url), wholeCommitsMs });
    await ofReplicaSet.list(acmePlaces, { filters: [], sort: [], offset: 0, limit: 1 });
  }, ENGINE_START_MS);
  afterAll(async () => {
    for (const each of [readModels, ofReplicaSet, proxy, replicaSet])
      await ('stop' in each ? each.stop() : each.close());
    await client.close();
    await mongoDb.dispose();
  });

  const catalog = () => client.db().collection<{ _id: string; applying: boolean }>('catalog');
  const ofRecords = (commands: readonly Document[]) =>
    commands.filter(({ find, aggregate }) => String(find ?? aggregate).startsWith('records_'));
  /** The filters of a list's commands, of its page and its total. */
  const asked = async (query: Partial<RecordQuery>) =>
    ofRecords(await proxy.during(() => found(readModels, query))).map(
      ({ filter, pipeline }) => filter ?? pipeline[0].$match,
    );

  test('a text that is an n-gram itself is looked up in the index alone, while no text is left out of it', async () => {
    const filters = [contains('name', 'lac', 'e 2')];
    const exact = { g: { $in: ['1:lac', '1:e 2'] } };
    // Whether a text is left out is asked once for each version of the table.
    expect(await asked({ filters })).toEqual([{ g: { $in: ['1:ZZZ'] } }, exact, exact]);
    expect(await asked({ filters })).toEqual([exact, exact]);
    expect(await asked({ filters: [contains('size', '7')] })).toEqual([{ g: { $in: ['2:ZZZ'] } }, { g: '2:7' }]);
    const [longer] = await asked({ filters: [contains('name', 'lace')] });
    expect(longer).toEqual({ $and: [{ g: '1:lac' }, { g: '1:ace' }, { f1: { $regex: 'lace' } }] });
  });

  test('a search looks for each alternative in an index', async () => {
    const begins = { kind: 'begins', field: 'id', with: '0198c1f2' } as const;
    const sizes = { kind: 'equals', field: 'size', anyOf: [7, 8] } as const;
    const text = { kind: 'contains', field: 'name', anyOf: ['lac'] } as const;
    const [, page] = await asked({ filters: [{ kind: 'any', anyOf: [text, sizes, begins] }] });
    const ids = { $gte: '0198c1f2-0000-0000-0000-000000000000', $lte: '0198c1f2-ffff-ffff-ffff-ffffffffffff' };
    expect(page).toEqual({ $or: [{ g: '1:lac' }, { f2: { $in: [7, 8] } }, { _id: ids }] });
  });

  test('a page far behind is found in an index that has all that its filter asks for, and read by ids', async () => {
    const filters = [{ kind: 'compares', field: 'size', is: 'gt', value: 10 }] as const;
    const sort = [{ field: 'size', direction: 'asc' }] as const;
    const far = { filters, sort, offset: 1_000 };
    const [ids, page, total] = ofRecords(await proxy.during(() => found(readModels, far)));
    expect(ids).toMatchObject({ filter: { f2: { $gt: 10 } }, projection: { _id: 1 }, skip: 1_000 });
    expect(page).toMatchObject({ filter: { _id: { $in: [] } }, projection: { d: 1 } });
    expect(total).toHaveProperty('aggregate');
    // Another order takes the records themselves.
    const [other] = ofRecords(await proxy.during(() => found(readModels, { filters, offset: 1_000 })));
    expect(other).toMatchObject({ allowDiskUse: true, projection: { d: 1 } });
  });

  test.each([
    ['a server without moments', () => [proxy, readModels] as const, []],
    // The first read gets the moment; it is that of the entry, the page and the total.
    ['a replica set', () => [replicaSet, ofReplicaSet] as const, [undefined, MOMENT, MOMENT]],
  ])('beside a commit a list waits, and is asked of the records once: %s', async (_, open, moments) => {
    const [server, read] = open();
    const filters = [contains('name', 'place')];
    const { total } = await found(read, { filters });
    await catalog().updateMany({}, { $set: { applying: true } });
    const commands = await server.during(async () => {
      const listed = found(read, { filters });
      while (server.commands.filter(({ find }) => find === 'catalog').length < 4) await new Promise(setImmediate);
      await catalog().updateMany({}, { $set: { applying: false } });
      expect(await listed).toMatchObject({ total });
    });
    expect(ofRecords(commands)).toHaveLength(2);
    const snapshots = commands.filter(({ readConcern }) => readConcern?.level === 'snapshot');
    expect(snapshots.map(({ readConcern }) => readConcern.atClusterTime)).toEqual(moments);
  });

  test('a list beside commits that never end is answered all the same', async () => {
    await catalog().updateMany({}, { $set: { applying: true } });
    const hurried = await openMongoReadModels({ url: proxy.through(url), wholeCommitsMs: 0 });
    const commands = await proxy.during(() => found(hurried, {}));
    await hurried.close();
    await catalog().updateMany({}, { $set: { applying: false } });
    expect(ofRecords(commands)).toHaveLength(1);
  });
});
