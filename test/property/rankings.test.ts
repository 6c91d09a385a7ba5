/** Pages that rankings give, beside a naive list in memory, while the table goes on changing. */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { COSTS } from '#app/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '#app/adapters/readmodels/sqlite/query/lister.js';
import { makeRanking, Ranking, type RankingName, Rankings } from '#app/adapters/readmodels/sqlite/ranking/ranking.js';
import { ReadConnection } from '#app/adapters/readmodels/sqlite/read/readConnection.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import type { RecordChange } from '#app/domain/referenceTable/changes.js';
import { NaiveTable } from './naiveTable.js';
import { runsOf, SEED } from './runs.js';
import { allFields, assetType, firstFields, history, places, queryOf } from './tableHistories.js';

/** A page goes by a ranking wherever it can, and each one that does not wants one. */
const RANKED = {
  ...COSTS,
  fetched: 1e6,
  collected: 1e6,
  scanned: 1e6,
  probed: 1e6,
  far: 0,
  rankedRows: 0,
  slowMs: -1,
};

const queries = fc.array(queryOf(allFields.map(({ name }) => name)), { minLength: 6, maxLength: 9 });

describe('rankings of the embedded read models', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'rankings-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const runs = runsOf(40);

  test(
    'give the pages that a naive list of records has, through every change of the table',
    async () => {
      const pages = jest.spyOn(Ranking.prototype, 'page');
      let run = 0;
      await fc.assert(
        fc.asyncProperty(history, queries, fc.integer({ min: 1, max: 4 }), async (steps, asked, rest) => {
          run += 1;
          const file = join(directory, `${run}.db`);
          const writer = await openSqliteReadModelWriter({ file, smallRows: 0 });
          const naive = new NaiveTable(allFields);
          const connection = new ReadConnection({ file, cacheMegabytes: 1 });
          const wanted = new Map<string, RankingName>();
          const rankings = new Rankings((name) => wanted.set(JSON.stringify(name), name));
          const lister = new Lister(connection, RANKED, rankings);
          const atFirst = asked.filter(({ filters, sort }) =>
            [...filters.flatMap((each) => (each.kind === 'any' ? each.anyOf : [each])), ...sort].every(({ field }) =>
              isKnownAtFirst(field),
            ),
          );
          try {
            await writer.begin();
            await writer.defineTable(places, assetType(firstFields));
            await writer.commit(new Map());
            let isLater = false;
            for (const [revision, one] of steps.entries()) {
              await writer.begin();
              if (one.kind === 'define') {
                await writer.defineTable(places, assetType(allFields));
                isLater = true;
              } else {
                const changes = naive.changesOf(one);
                naive.apply(changes);
                if (one.kind === 'cleanUp' && revision % 2 === 0) await cleanUpByPieces(writer, one.batchId, revision);
                else await writer.applyToTable(places, changes as RecordChange[], { revision, at: '' });
              }
              await writer.commit(new Map());
              for (const query of isLater ? asked : atFirst) {
                const { records, total } = lister.list(places, query);
                const expected = naive.list(query);
                const found = { revision, query, total, ids: records.map((record) => JSON.parse(record).id) };
                const ids = (expected.records as readonly { id: string }[]).map(({ id }) => id);
                expect(found).toEqual({ revision, query, total: expected.total, ids });
              }
              if (revision % rest > 0) continue;
              for (const name of wanted.values()) {
                const made = makeRanking(connection, name, { mostRows: 1_000, onPiece: () => undefined });
                if (made !== undefined) rankings.keep(made);
              }
              wanted.clear();
            }
          } finally {
            connection.close();
            await writer.close();
          }
        }),
        { numRuns: runs, seed: SEED },
      );
      const found = pages.mock.results.filter(({ value }) => value !== undefined).length;
      expect(found).toBeGreaterThan(run);
      expect(found).toBe(pages.mock.calls.length);
    },
    60_000 + runs * 500,
  );
});

async function cleanUpByPieces(
  writer: Awaited<ReturnType<typeof openSqliteReadModelWriter>>,
  batchId: string,
  revision: number,
): Promise<void> {
  let after: number | undefined;
  do {
    after = await writer.stepwise?.cleanUpSome(
      places,
      { batchId, revision, after, limit: 3 },
      { revision, at: '', position: revision },
    );
  } while (after !== undefined);
}

const isKnownAtFirst = (field: string): boolean =>
  ['id', 'created_at', 'updated_at'].includes(field) || firstFields.some(({ name }) => name === field);
