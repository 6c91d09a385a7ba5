import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { COSTS } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '#app/adapters/readmodels/sqlite/query/lister.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/read/readConnection.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import { NaiveTable } from './naiveTable.js';
import { runsOf, SEED } from './runs.js';
import { allFields, assetType, firstFields, history, places, queryOf } from './tableHistories.js';

// Each makes the planner take another way: walk or collect, test rows or sets of rows, give up or not.
const walking = {
  ...COSTS,
  unlimitedRows: 10,
  markedShare: 0.5,
  scanned: 0.001,
  probed: 1,
  gathered: 1,
  fetched: 0.001,
  read: 1,
  collected: 1000,
  walkShare: 1,
  lookUpShare: 1,
  listedRows: 2,
};
const PLANNERS = {
  measured: COSTS,
  walking,
  'walking by sets': { ...walking, scanned: 1, fetched: 1, probed: 0.001, gathered: 0.001, listedRows: 50 },
  'walking by sets that are asked again': { ...walking, scanned: 1, fetched: 1, probed: 0.001, gathered: 0.001 },
  'giving up': { ...walking, scanned: 0.3, fetched: 0.3, collected: 1, listedRows: 1 },
  'giving up by sets': {
    ...walking,
    scanned: 1,
    fetched: 1,
    probed: 0.1,
    gathered: 0.001,
    collected: 1,
    listedRows: 50,
  },
  collecting: { ...walking, fetched: 1, collected: 0, listedRows: 3, lookUpShare: 0, read: 0 },
};

const queries = fc.array(queryOf(allFields.map(({ name }) => name)), { minLength: 8, maxLength: 12 });

/** With how many records at most a table lacks its indexes: it has them from the start, gets them on the way, or never. */
const smallRows = fc.constantFrom(0, 20, 1_000);

describe('the query engine of the embedded read models', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'query-engine-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const runs = runsOf(40);
  let run = 0;

  test(
    'answers every query as a naive list of records in memory does, whichever way the planner takes',
    async () => {
      await fc.assert(
        fc.asyncProperty(history, queries, smallRows, async (steps, asked, small) => {
          run += 1;
          const file = join(directory, `${run}.db`);
          const writer = await openSqliteReadModelWriter({ file, smallRows: small });
          const naive = new NaiveTable(allFields);
          await writer.begin();
          await writer.defineTable(places, assetType(firstFields));
          for (const [revision, one] of steps.entries()) {
            if (one.kind === 'define') {
              await writer.defineTable(places, assetType(allFields));
              continue;
            }
            const changes = naive.changesOf(one);
            naive.apply(changes);
            await writer.applyToTable(places, changes as RecordChange[], { revision, at: '' });
            if (revision % 3 > 0) continue;
            await writer.commit(new Map());
            await writer.begin();
          }
          await writer.commit(new Map());
          await writer.close();

          const connection = new ReadConnection({ file, cacheMegabytes: 1 });
          try {
            for (const [name, costs] of Object.entries(PLANNERS)) {
              const lister = new Lister(connection, costs);
              for (const one of asked) {
                const { records, total } = lister.list(places, one);
                const answer = { planner: name, total, records: records.map((record) => JSON.parse(record)) };
                expect(answer).toEqual({ planner: name, ...naive.list(one) });
              }
            }
          } finally {
            connection.close();
          }
        }),
        { numRuns: runs, seed: SEED },
      );
    },
    60_000 + runs * 500,
  );
});
