/** Random lists of random tables, from rows on SQLite: what rows in memory answer. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { RecordQueries } from '#app/queries/records.js';
import { recordsOn, write } from '../contract/queriesFixture.js';
import { MemoryRows } from '../support/memoryRows.js';
import { type RecordChange, WrittenRows } from '../support/writtenRows.js';
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

/** Steps name records by a number that is taken modulo how many there are. */
class Table {
  #records: { readonly id: string; batchId: string | null }[] = [];
  #keys = 0;

  changesOf(step: Exclude<Step, { kind: 'define' }>): readonly RecordChange[] {
    const count = this.#records.length;
    const picked = 'pick' in step ? this.#records[step.pick % Math.max(1, count)] : undefined;
    switch (step.kind) {
      case 'insert':
        return step.records.flatMap(({ id, at, batchId, fields }): RecordChange[] => {
          if (this.#records.some((record) => record.id === id)) return [];
          this.#records.push({ id, batchId });
          this.#keys += 1;
          const key = `Key-${this.#keys % 7}.${this.#keys}`;
          return [{ kind: 'insert', id, at, batchId, fields: { ...(fields as Fields), key } }];
        });
      case 'patch':
        if (picked === undefined) return [];
        if (step.batchId !== undefined) picked.batchId = step.batchId;
        return [{ ...step, id: picked.id, set: step.set as Fields } as RecordChange];
      case 'delete':
        this.#records = this.#records.filter((record) => record !== picked);
        return picked === undefined ? [] : [{ kind: 'delete', id: picked.id }];
      case 'seen': {
        const seen = this.#records.slice(step.from % (count + 1));
        for (const record of seen) record.batchId = step.batchId;
        return [{ kind: 'seen', ids: seen.map(({ id }) => id), batchId: step.batchId }];
      }
      case 'cleanUp':
        this.#records = this.#records.filter(({ batchId }) => batchId === step.batchId);
        return [step];
    }
  }
}

/** Applies the steps to each. @param perCommit how many steps are shown together */
async function fill(all: readonly WrittenRows[], steps: readonly Step[], perCommit: number): Promise<void> {
  const table = new Table();
  for (const each of all) await write(each, () => each.defineTable(places, assetType(firstFields)));
  const changes = steps.map((step) => (step.kind === 'define' ? 'define' : table.changesOf(step)));
  for (let from = 0; from < steps.length; from += perCommit)
    for (const each of all)
      await write(each, async () => {
        for (const [n, change] of changes.slice(from, from + perCommit).entries()) {
          if (change === 'define') await each.defineTable(places, assetType(allFields));
          else await each.applyToTable(places, change, { revision: from + n, at: '2026-11-21T03:11:47.000000Z' });
        }
      });
}

test(
  `random queries are answered as the model of engines answers them (seed ${SEED})`,
  () =>
    fc.assert(
      fc.asyncProperty(history, queries, fc.integer({ min: 1, max: 4 }), async (steps, asked, perCommit) => {
        await writer.remove('acme');
        const model = new MemoryRows();
        const [written, modelled] = [new WrittenRows(writer), new WrittenRows(model)];
        await fill([written, modelled], steps, perCommit);
        const answers = (reads: RecordQueries) =>
          asked.map(async (query) => {
            const page = await reads.list(places, query);
            return { query, total: page.total, records: recordsOn(page) };
          });
        const expected = await Promise.all(answers(new RecordQueries(model.reads, modelled)));
        expect(await Promise.all(answers(new RecordQueries(rows, written)))).toEqual(expected);
      }),
      { numRuns: runs, seed: SEED },
    ),
  60_000 + runs * 500,
);
