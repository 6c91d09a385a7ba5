/** Random lists of random tables, from rows on SQLite: what a naive list of records in memory answers. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import { RecordQueries } from '#app/queries/records.js';
import { recordsOn, write } from '../contract/queriesFixture.js';
import { WrittenRows } from '../support/writtenRows.js';
import { NaiveTable } from './naiveTable.js';
import { runsOf, SEED } from './runs.js';
import { allFields, assetType, firstFields, history, places, queryOf, type Step } from './tableHistories.js';

const sortable = allFields.filter((field) => field.sortable).map(({ name }) => name);
const queries = fc.array(queryOf(sortable), { minLength: 8, maxLength: 12 });
const runs = runsOf(40);

let directory: string;
let writer: ReturnType<typeof openRowWriter>;
let rows: ReturnType<typeof openRowReads>;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'queries-'));
  writer = openRowWriter({ directory });
  rows = openRowReads({ directory, readers: 1 });
});
afterAll(async () => {
  await rows.close();
  await writer.close();
  await rm(directory, { recursive: true });
});

/** @param perCommit how many steps are shown together */
async function fill(written: WrittenRows, steps: readonly Step[], perCommit: number): Promise<NaiveTable> {
  const naive = new NaiveTable(allFields);
  await write(written, () => written.defineTable(places, assetType(firstFields)));
  for (let from = 0; from < steps.length; from += perCommit) {
    await write(written, async () => {
      for (const [n, step] of steps.slice(from, from + perCommit).entries()) {
        if (step.kind === 'define') {
          await written.defineTable(places, assetType(allFields));
          continue;
        }
        const changes = naive.changesOf(step);
        naive.apply(changes);
        await written.applyToTable(places, changes, { revision: from + n, at: '2026-11-21T03:11:47.000000Z' });
      }
    });
  }
  return naive;
}

test(
  `random queries are answered as a naive list of records answers them (seed ${SEED})`,
  () =>
    fc.assert(
      fc.asyncProperty(history, queries, fc.integer({ min: 1, max: 4 }), async (steps, asked, perCommit) => {
        await writer.remove('acme');
        const written = new WrittenRows(writer);
        const naive = await fill(written, steps, perCommit);
        const records = new RecordQueries(rows, written);
        for (const query of asked) {
          const page = await records.list(places, query);
          expect({ query, total: page.total, records: recordsOn(page) }).toEqual({ query, ...naive.list(query) });
        }
      }),
      { numRuns: runs, seed: SEED },
    ),
  60_000 + runs * 500,
);
