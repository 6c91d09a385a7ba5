import { MongoClient } from 'mongodb';
import { type CleanedUpRecord, sweepRecords } from '#app/adapters/readmodels/mongodb/cleanedUpRecords.js';
import { Part } from '#app/adapters/readmodels/mongodb/part.js';
import { type RecordDocument, refusedRecord } from '#app/adapters/readmodels/mongodb/recordDocument.js';
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

  test.each([
    ['its own', undefined],
    ['a shared', 'one'],
  ])(
    'a writer that is late with an earlier clean-up does not take the place of a later one in %s collection',
    async (_, of) => {
      const db = client.db();
      const records = new Part(db.collection<RecordDocument>('records'), of);
      const swept = new Part(db.collection<CleanedUpRecord>('swept'), of);
      const put = async (ids: readonly string[], d: string) => {
        await records.deleteMany({});
        const beside = { r: 1, c: '', u: '', b: 'x', w: 1, d };
        await records.insertMany(
          ids.map((_id) => ({ _id, k: `key of ${_id}`, ...beside })),
          refusedRecord,
        );
      };
      const sweep = (r: number) =>
        sweepRecords(records, { b: { $ne: 'kept' } }, { cleanedUp: swept, r, t: '2026-11-21T03:11:47.000000Z' });
      const kept = async () =>
        (await swept.find({}, { sort: { _id: 1 } }).toArray()).map(({ _id, r, d }) => `${_id} ${r} ${d}`);

      for (const _again of [1, 2]) {
        await put(['a', 'b'], 'second');
        expect(await sweep(8)).toBe(2);
      }
      await put(['a', 'b', 'c'], 'first');
      expect(await sweep(5)).toBe(3);
      expect(await kept()).toEqual(['a 8 second', 'b 8 second', 'c 5 first']);
      await put(['a'], 'third');
      await sweep(9);
      expect(await kept()).toEqual(['a 9 third', 'b 8 second', 'c 5 first']);
    },
  );

  test('what is deleted of a large table is deleted in pieces, and what outlives it stays', async () => {
    const records = new Part(client.db().collection<RecordDocument>('many'));
    const beside = { r: 1, c: '', u: '', w: 1, d: '' };
    const named = (from: number, count: number, b: string) =>
      Array.from({ length: count }, (_, n) => ({ _id: `${from + n}`, k: null, b, ...beside }));
    await records.insertMany(named(0, 2_001, 'gone'), refusedRecord);
    await records.insertMany(named(5_000, 2, 'kept'), refusedRecord);
    const deletes = jest.spyOn(records, 'deleteMany');
    expect(await sweepRecords(records, { b: { $ne: 'kept' } })).toBe(2_001);
    expect(deletes).toHaveBeenCalledTimes(3);
    expect(await records.countDocuments()).toBe(2);
  });
});
