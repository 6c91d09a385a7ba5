import { MongoClient } from 'mongodb';
import { type CleanedUpRecord, keepRecords } from '#app/adapters/readmodels/mongodb/cleanedUpRecords.js';
import type { RecordDocument } from '#app/adapters/readmodels/mongodb/recordDocument.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';

describeEngine('mongodb', 'records that clean-ups delete, on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  let client: MongoClient;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
    client = await MongoClient.connect(mongoDb.freshUrl());
  }, ENGINE_START_MS);
  afterAll(async () => {
    await client.close();
    await mongoDb.dispose();
  });

  test('a writer that is late with an earlier clean-up does not take the place of a later one', async () => {
    const db = client.db();
    const records = db.collection<RecordDocument>('records');
    const swept = db.collection<CleanedUpRecord>('swept');
    const put = async (ids: readonly string[], d: string) => {
      await records.deleteMany({});
      await records.insertMany(ids.map((_id) => ({ _id, k: `key of ${_id}`, r: 1, c: '', u: '', b: 'x', w: 1, d })));
    };
    const kept = async () =>
      (await swept.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id, r, d }) => `${_id} ${r} ${d}`);

    await put(['a', 'b'], 'second');
    await keepRecords(swept, records, { b: { $ne: 'kept' } }, { r: 8, t: '2026-11-21T03:11:47.000000Z' });
    await keepRecords(swept, records, { b: { $ne: 'kept' } }, { r: 8, t: '2026-11-21T03:11:47.000000Z' });
    await put(['a', 'b', 'c'], 'first');
    await keepRecords(swept, records, { b: { $ne: 'kept' } }, { r: 5, t: '2026-11-21T03:11:47.000000Z' });
    expect(await kept()).toEqual(['a 8 second', 'b 8 second', 'c 5 first']);
    await put(['a'], 'third');
    await keepRecords(swept, records, { b: { $ne: 'kept' } }, { r: 9, t: '2026-11-21T03:11:47.000000Z' });
    expect(await kept()).toEqual(['a 9 third', 'b 8 second', 'c 5 first']);
  });
});
