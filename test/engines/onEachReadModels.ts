/** Tests that hold with both engines of the read models: with SQLite in `npm test`, with MongoDB in the project `repeated`. */
import { isRepetition } from '../onProductionEngines/repetition.js';
import { describeEngine } from './describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from './mongodb.js';

/** Settings that choose the engine, with an empty database each time they are asked for. */
export type FreshReadModels = () => { readonly [name: string]: string };

/** @param tests registers them */
export function onEachReadModels(tests: (fresh: FreshReadModels) => void): void {
  if (!isRepetition) {
    describe('with SQLite', () => tests(() => ({})));
    return;
  }
  describeEngine('mongodb', 'with MongoDB', mongoDbMissing(), () => {
    let mongoDb: AnyMongoDb;
    beforeAll(async () => {
      mongoDb = await anyMongoDb();
    }, ENGINE_START_MS);
    afterAll(() => mongoDb.dispose());
    tests(() => ({ MONGODB_URL: mongoDb.freshUrl() }));
  });
}
