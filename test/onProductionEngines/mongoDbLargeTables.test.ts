/** Lists and changed asset types once more, with tables that have collections for themselves from their first record on. */
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import { openedOnce } from '../contract/readModelsFixture.js';
import { describeLayouts } from '../contract/readModelsLayouts.js';
import { describeLists } from '../contract/readModelsLists.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';

describeEngine('mongodb', 'the read-model contract of large tables on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  const opened = openedOnce(async () => {
    const options = { url: mongoDb.freshUrl(), smallRows: 0 };
    return {
      readModels: await openMongoReadModels(options),
      writer: await openMongoReadModelWriter(options),
      anotherWriter: () => openMongoReadModelWriter(options),
      refusedNotes: () => '',
    };
  });
  describeLists('MongoDB, large tables', opened);
  describeLayouts('MongoDB, large tables', opened);
});
