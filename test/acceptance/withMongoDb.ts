import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';

/** These take many minutes on FerretDB, so they are asked for by name. */
const notAsked = (): string | undefined =>
  process.env.ACCEPTANCE_ENGINES?.split(',').includes('mongodb') ? undefined : 'ACCEPTANCE_ENGINES=mongodb is not set';

/** Registers acceptance tests once more; the services they start have MongoDB behind their read models. */
export function withMongoDb(register: () => void): void {
  const missing = notAsked() ?? mongoDbMissing();
  describeEngine('mongodb-acceptance', 'with MongoDB as the read models', missing, () => {
    const before = process.env.MONGODB_URL;
    let mongoDb: AnyMongoDb | undefined;
    beforeAll(async () => {
      mongoDb = await anyMongoDb();
      // The services look here.
      process.env.MONGODB_URL = mongoDb.freshUrl();
    }, ENGINE_START_MS);
    afterAll(async () => {
      if (before === undefined) delete process.env.MONGODB_URL;
      else process.env.MONGODB_URL = before;
      await mongoDb?.dispose();
    });
    register();
  });
}
