import fc from 'fast-check';
import { openMongoReadModels } from '#app/adapters/readmodels/mongodb/store.js';
import { openMongoReadModelWriter } from '#app/adapters/readmodels/mongodb/writer.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import type { RecordQuery } from '#app/ports/readModels.js';
import { recordsOn } from '../contract/readModelsFixture.js';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { NaiveTable } from './naiveTable.js';
import { runsOf, SEED } from './runs.js';
import { allFields, assetType, firstFields, history, places, queryOf, type Step } from './tableHistories.js';

const query = queryOf(allFields.filter(({ sortable }) => sortable).map(({ name }) => name));
const runs = runsOf(20);

describeEngine('mongodb', 'queries of read models on MongoDB', mongoDbMissing(), () => {
  let mongoDb: AnyMongoDb;
  beforeAll(async () => {
    mongoDb = await anyMongoDb();
  }, ENGINE_START_MS);
  afterAll(() => mongoDb.dispose());

  /** Steps in slices of `perSlice`. */
  async function fill(url: string, steps: readonly Step[], perSlice: number, smallRows: number): Promise<NaiveTable> {
    const writer = await openMongoReadModelWriter({ url, smallRows });
    const naive = new NaiveTable(allFields);
    await writer.begin();
    await writer.defineTable(places, assetType(firstFields));
    for (const [revision, step] of steps.entries()) {
      if (step.kind === 'define') {
        await writer.defineTable(places, assetType(allFields));
      } else {
        const changes = naive.changesOf(step);
        naive.apply(changes);
        await writer.applyToTable(places, changes as RecordChange[], { revision, at: '' });
      }
      if (revision % perSlice !== 0) continue;
      await writer.commit(new Map());
      await writer.begin();
    }
    await writer.commit(new Map());
    await writer.close();
    return naive;
  }

  async function check(url: string, naive: NaiveTable, queries: readonly RecordQuery[]): Promise<void> {
    const readModels = await openMongoReadModels({ url });
    try {
      for (const one of queries) {
        const page = await readModels.list(places, one);
        expect({ total: page.total, records: recordsOn(page) }).toEqual(naive.list(one));
      }
    } finally {
      await readModels.close();
    }
  }

  test(
    'are answered as a naive list of records in memory answers them',
    () =>
      fc.assert(
        fc.asyncProperty(
          history,
          fc.array(query, { minLength: 8, maxLength: 12 }),
          fc.integer({ min: 1, max: 4 }),
          fc.constantFrom(0, 20, 1_000),
          async (steps, queries, perSlice, smallRows) => {
            const url = mongoDb.freshUrl();
            await check(url, await fill(url, steps, perSlice, smallRows), queries);
          },
        ),
        { numRuns: runs, seed: SEED },
      ),
    120_000 + runs * 5_000,
  );
});
