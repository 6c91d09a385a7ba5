/**
 * The history of each record, over random histories of its table with batches, clean-ups and undos: it has what the table
 * showed, step by step, and the same where the log was written by an earlier release.
 */
import fc from 'fast-check';
import { type RecordHistoryEntry, recordHistory } from '#app/api/recordChanges.js';
import type { StreamReads } from '#app/commands/streamPages.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { type Inside, openInside, openTenant } from '../projections/harness.js';
import { random, SEED } from './runs.js';
import { apply, type Shown, step, type Table, tableIn } from './tableSteps.js';

let inside: Inside;
let tenants = 0;
beforeAll(async () => {
  inside = await openInside();
});
afterAll(() => inside.close());

const FIELDS = ['external_id', 'name', 'city_name'] as const;

/** The log as if releases had written it that kept no earlier values. */
const ofEarlierReleases = (log: StreamReads): StreamReads => ({
  async readSlice(stream, range) {
    const { events, next } = await log.readSlice(stream, range);
    const text = (data: unknown) => JSON.stringify(data, (name, value) => (name === 'was' ? undefined : value));
    return { next, events: events.map((event) => ({ ...event, data: JSON.parse(text(event.data)) })) };
  },
});

type Source = Parameters<typeof recordHistory>[0];

/** The service's own sources; and those of an old log, of which the read model has forgotten what clean-ups deleted. */
const sources = (): readonly Source[] => {
  const { eventStore, readModels } = inside;
  const forgetful: Source['readModels'] = {
    recordEvents: (...asked) => readModels.recordEvents(...asked),
    cleanedUpRecord: async () => undefined,
  };
  return [
    { eventStore, readModels },
    { eventStore: ofEarlierReleases(eventStore), readModels: forgetful },
  ];
};

type Change = { readonly change: string; readonly fields: { readonly [name: string]: { from: unknown; to: unknown } } };

/** What a step did to a record; undefined: nothing. */
function changeOf(before: Shown | undefined, after: Shown | undefined): Change | undefined {
  const values = FIELDS.map((name) => ({ name, from: before?.[name] ?? null, to: after?.[name] ?? null }));
  const changed = values.filter(({ from, to }) => from !== to);
  if (changed.length === 0) return undefined;
  const change = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
  return { change, fields: Object.fromEntries(changed.map(({ name, from, to }) => [name, { from, to }])) };
}

/** All entries, page by page, oldest first. */
async function historyOf(source: Source, tenant: string, id: string): Promise<readonly RecordHistoryEntry[]> {
  const entries: RecordHistoryEntry[] = [];
  let before: number | undefined;
  do {
    const asked = { id, before, limit: 2 };
    const page = await recordHistory(source, { tenant, table: 'dyn_party' }, asked, new Cancellation());
    entries.push(...(page?.entries ?? []));
    before = page?.next;
  } while (before !== undefined);
  return entries.reverse();
}

it(`tells what each step did to the record, also one that is gone, and also of a log of an earlier release (seed ${SEED})`, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 16 }), async (steps) => {
      tenants += 1;
      const tenant = `told${tenants}`;
      await openTenant(inside, tenant);
      const operations: string[] = [];
      const moments: Table[] = [new Map()];
      for (const each of steps) {
        await apply(inside, tenant, each, moments.at(-1) ?? new Map(), operations);
        await inside.caughtUp();
        moments.push(await tableIn(inside.readModels, tenant));
      }
      for (const id of new Set(moments.flatMap((table) => [...table.keys()]))) {
        const expected = moments.flatMap((table, n) => changeOf(moments[n - 1]?.get(id), table.get(id)) ?? []);
        for (const source of sources()) {
          const told = await historyOf(source, tenant, id);
          const changes = told.map(({ change, fields }) => ({ change, fields: Object.fromEntries(fields) }));
          expect(changes).toEqual(expected);
          expect(told.every(({ isComplete }) => isComplete)).toBe(true);
        }
      }
    }),
    random(6),
  );
});
