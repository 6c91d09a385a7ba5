import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import fc from 'fast-check';
import { GramCounts } from '#app/adapters/readmodels/sqlite/gramCounts.js';
import type { RecordChange } from '#app/ports/readModelWriter.js';
import { openPlaces } from './embeddedPlaces.js';
import { matchText, NaiveTable } from './naiveTable.js';
import { allFields, assetType, history, places } from './tableHistories.js';

/** What filters find by trigrams: all that is filterable, but dates, booleans and ids of other records. */
const counted = ['key', 'name', 'country', 'note', 'quantity', 'extra', 'size'];

type Counts = Record<string, number>;

/** How many texts have each of their characters and pairs of neighbours. */
function countsOf(texts: readonly string[]): Counts {
  const counts: Counts = {};
  for (const text of texts) {
    const characters = [...text];
    const pairs = characters.slice(1).map((second, i) => `${characters[i]}${second}`);
    for (const gram of new Set([...characters, ...pairs])) counts[gram] = (counts[gram] ?? 0) + 1;
  }
  return counts;
}

function countsIn(file: string): Record<string, Counts> {
  const db = new Database(file, { readonly: true });
  try {
    const [table] = db.prepare<[], { id: number; layout: string; made: number }>('SELECT * FROM catalog').all();
    if (table === undefined || table.made === 0) return {};
    const { fields } = JSON.parse(table.layout) as { fields: { name: string; match?: string }[] };
    const rows = db.prepare<[], { gram: string; field: string; records: number }>(`SELECT * FROM g${table.id}`).all();
    const found: Record<string, Counts> = {};
    for (const { gram, field, records } of rows) {
      const name = fields.find(({ match }) => match === field)?.name ?? field;
      found[name] = { ...found[name], [gram]: records };
    }
    return found;
  } finally {
    db.close();
  }
}

describe('the counts of characters and pairs in the embedded read models', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'gram-counts-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  test('are those of the records, over commits and rollbacks', async () => {
    let run = 0;
    const rollbacks = fc.infiniteStream(fc.constantFrom('commit', 'go on', 'roll back'));
    await fc.assert(
      fc.asyncProperty(history, rollbacks, async (steps, decisions) => {
        run += 1;
        const file = join(directory, `${run}.db`);
        const writer = await openPlaces(file);
        const naive = new NaiveTable(allFields);
        await writer.begin();
        for (const [revision, step] of steps.entries()) {
          const decision = decisions.next().value;
          if (step.kind === 'define') {
            await writer.defineTable(places, assetType(allFields));
            continue;
          }
          const changes = naive.changesOf(step) as RecordChange[];
          if (decision === 'roll back') {
            // What came before it in this transaction stays: so it has one of its own.
            await writer.commit(new Map());
            await writer.begin();
            await writer.applyToTable(places, changes, { revision, at: '' });
            await writer.rollback();
            await writer.begin();
            continue;
          }
          naive.apply(changes);
          await writer.applyToTable(places, changes, { revision, at: '' });
          if (decision === 'go on') continue;
          await writer.commit(new Map());
          await writer.begin();
        }
        await writer.commit(new Map());
        await writer.close();

        const { records } = naive.list({ filters: [], sort: [], offset: 0, limit: 100_000 });
        const expected = counted.flatMap((name) => {
          const values = records.map((record) => (record as Record<string, never>)[name] ?? null);
          const counts = countsOf(values.flatMap((value) => (value === null ? [] : [matchText(value)])));
          return Object.keys(counts).length === 0 ? [] : [[name, counts]];
        });
        expect(countsIn(file)).toEqual(Object.fromEntries(expected));
      }),
      { numRuns: Number(process.env.FC_RUNS ?? 100) },
    );
  }, 120_000);

  test('are the same for few texts and for many in one transaction', () => {
    const db = new Database(':memory:');
    db.exec('CREATE TABLE g1 (gram TEXT, field TEXT, records INTEGER, PRIMARY KEY (gram, field)) WITHOUT ROWID');
    const counted = new GramCounts(db, 1);
    const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', '-', 'é', 'ж', '😀'), maxLength: 6 });
    const slice = fc.record({ come: fc.array(text, { maxLength: 150, size: 'max' }), gone: fc.nat(120) });
    fc.assert(
      fc.property(fc.array(slice, { minLength: 1, maxLength: 4 }), (slices) => {
        counted.clear();
        let texts: string[] = [];
        for (const { come, gone } of slices) {
          for (const one of texts.slice(0, gone)) counted.count('c0', one, -1);
          for (const one of come) counted.count('c0', one, 1);
          texts = [...texts.slice(gone), ...come];
          counted.flush();
          const rows = db.prepare<[], [string, number]>('SELECT gram, records FROM g1').raw().all();
          expect(Object.fromEntries(rows)).toEqual(countsOf(texts));
        }
      }),
      { numRuns: 200 },
    );
    db.close();
  });
});
