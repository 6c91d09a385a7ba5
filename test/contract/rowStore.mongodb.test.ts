import { openMongoRowReads } from '#app/adapters/rows/mongodb/reads.js';
import { openMongoRowWriter } from '#app/adapters/rows/mongodb/writer.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { describeRows } from './rowStore.js';

describeEngine('mongodb', 'the contract of rows on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  describeRows('MongoDB', async () => {
    const url = mongoDb.freshUrl();
    return { writer: openMongoRowWriter({ url }), reads: openMongoRowReads({ url }) };
  });
});
