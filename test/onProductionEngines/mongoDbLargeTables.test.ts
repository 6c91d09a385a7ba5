/** The contract once more, with tables that have collections for themselves from their first record on. */
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { describeReadModels } from '../contract/readModels.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';

describeEngine('mongodb', 'the read-model contract of large tables on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  describeReadModels('MongoDB, large tables', async () => {
    const options = { url: mongoDb.freshUrl(), smallRows: 0 };
    return {
      readModels: await openMongoReadModels(options),
      writer: await openMongoReadModelWriter(options),
      anotherWriter: () => openMongoReadModelWriter(options),
      // Beyond the size of a document.
      refusedNotes: () => 'x'.repeat(17_000_000),
    };
  });
});
