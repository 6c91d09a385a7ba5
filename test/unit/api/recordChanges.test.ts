/** The history of a record, from the log and from which of its events concern the record. */
import { recordHistory } from '#app/api/recordChanges.js';
import { MAX_RECORD_HISTORY_EVENTS } from '#app/domain/limits.js';
import { packIds, type ReferenceTableEvent } from '#app/domain/referenceTable/events.js';
import type { RecordedEvent, SliceRange } from '#app/ports/eventStore.js';
import type { CleanedUpRecord } from '#app/ports/readModels.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { metadata, sliceOf } from '../../contract/eventStoreFixtures.js';

const id = '0190a000-0000-7000-8000-000000000001';
const other = '0190a000-0000-7000-8000-000000000002';
type Said = ReferenceTableEvent & { readonly request?: string };

type Asked = { readonly before?: number; readonly limit?: number; readonly cleanedUp?: CleanedUpRecord };

/** @param concern revisions of the events that concern the record; all by default */
async function history(said: readonly Said[], { before, limit = 100, cleanedUp }: Asked = {}, concern?: number[]) {
  const events = said.map(
    ({ type, data, request }, revision): RecordedEvent => ({
      id: `${revision}`,
      type,
      data,
      stream: 'table-acme.dyn_item',
      revision,
      position: revision + 1,
      metadata: { ...metadata, causationId: request ?? `request ${revision}` },
    }),
  );
  const noted = (concern ?? [...events.keys()]).toReversed();
  let read = 0;
  const source = {
    eventStore: {
      readSlice: async (_: string, range: SliceRange) => {
        const slice = sliceOf(events.slice(range.from, range.to + 1), range);
        read += slice.events.length;
        return slice;
      },
    },
    readModels: {
      recordEvents: async (_: unknown, __: string, page: { before?: number | undefined; limit: number }) =>
        noted.filter((revision) => revision < (page.before ?? Number.POSITIVE_INFINITY)).slice(0, page.limit),
      cleanedUpRecord: async () => cleanedUp,
    },
  };
  const table = { tenant: 'acme', table: 'dyn_item' };
  const page = await recordHistory(source, table, { id, before, limit }, new Cancellation());
  const entries = page?.entries.map(({ change, kind, fields, operation, isComplete, event }) => ({
    did: `${kind} ${change}`,
    fields: Object.fromEntries(fields),
    ...(operation === undefined ? {} : { operation }),
    ...(isComplete ? {} : { isComplete }),
    revision: event.revision,
  }));
  return { entries, next: page?.next, read };
}

const created = (fields: object, of = id): Said => ({
  type: 'RecordCreated',
  data: { id: of, fields: { ...fields } },
});
const changed = (set: object, was?: readonly string[]): Said => ({
  type: 'RecordChanged',
  data: { id, set: { ...set }, ...(was === undefined ? {} : { was }) },
});
const batch = (data: Partial<Extract<Said, { type: 'BatchUpserted' }>['data']>, request?: string): Said => ({
  type: 'BatchUpserted',
  data: { created: [], changed: [], seen: '', ...data },
  ...(request === undefined ? {} : { request }),
});
const cleanedUp: Said = { type: 'TableCleanedUp', data: { batchId: 'b', deleted: 7 } };
const pair = (from: unknown, to: unknown) => ({ from, to });

it('has the values before, also where an earlier release did not write them into the event', async () => {
  const { entries, next } = await history([
    created({ name: 'Tea', size: 1 }),
    changed({ name: 'Black tea' }),
    changed({ ean: '7' }),
    changed({ name: null, size: 2 }),
    batch({ changed: [{ id, set: { name: 'Chai' }, was: [null] }] }),
  ]);
  expect(entries).toEqual([
    { did: 'table.batch update', fields: { name: pair(null, 'Chai') }, operation: 4, revision: 4 },
    { did: 'record.changed update', fields: { name: pair('Black tea', null), size: pair(1, 2) }, revision: 3 },
    { did: 'record.changed update', fields: { ean: pair(null, '7') }, revision: 2 },
    { did: 'record.changed update', fields: { name: pair('Tea', 'Black tea') }, revision: 1 },
    { did: 'record.created create', fields: { name: pair(null, 'Tea'), size: pair(null, 1) }, revision: 0 },
  ]);
  expect(next).toBeUndefined();
});

it('a deletion has all that the record had: as its clean-up kept it, or else as its events say', async () => {
  const said = [
    batch({ created: [{ id, fields: { name: 'Tea', size: 1, ean: '7' } }] }),
    changed({ name: 'Chai', ean: null }),
    cleanedUp,
    batch({ created: [{ id, fields: { name: 'Back' } }], undoes: 2 }),
    { type: 'BatchUndone' as const, data: { undoes: 3, changed: [], seen: '', deleted: packIds([other, id]) } },
  ];
  const { entries } = await history(said);
  expect(entries?.map(({ did, fields }) => [did, fields])).toEqual([
    ['table.undo delete', { name: pair('Back', null) }],
    ['table.undo create', { name: pair(null, 'Back') }],
    ['table.clean_up delete', { name: pair('Chai', null), size: pair(1, null) }],
    ['record.changed update', { name: pair('Tea', 'Chai'), ean: pair('7', null) }],
    ['table.batch create', { name: pair(null, 'Tea'), size: pair(null, 1), ean: pair(null, '7') }],
  ]);
  const kept = { revision: 2, fields: { name: 'Kept', size: null } };
  const page = await history(said, { before: 3, limit: 1, cleanedUp: kept });
  expect(page.entries).toMatchObject([{ fields: { name: pair('Kept', null) } }]);
  expect(page.read).toBe(1);
});

it('reads the events before a page only for values before', async () => {
  const said = [
    created({ name: 'A', size: 1 }),
    changed({ size: 2 }, []),
    changed({ name: 'B' }),
    changed({ size: 3 }),
  ];
  const first = await history(said, { limit: 1 });
  expect(first.entries).toMatchObject([{ fields: { size: pair(2, 3) }, revision: 3 }]);
  expect([first.next, first.read]).toEqual([3, 3]);
  const second = await history(said, { limit: 1, before: 3 });
  expect(second.entries).toMatchObject([{ fields: { name: pair('A', 'B') }, revision: 2 }]);
  const last = await history(said, { limit: 5, before: 1 });
  expect([last.entries?.map(({ revision }) => revision), last.next]).toEqual([[0], undefined]);
});

it('names a batch of several events by its first, and looks at few of them for that', async () => {
  const parts = Array.from({ length: 100 }, (_, n) =>
    batch({ created: [{ id: n === 70 ? id : other, fields: { name: 'A' } }] }, 'one'),
  );
  const { entries, read } = await history([created({}, other), ...parts, cleanedUp], {}, [71]);
  expect(entries).toMatchObject([{ operation: 1, revision: 71 }]);
  expect(read).toBeLessThan(20);
});

it('a record that there never was has none', async () => {
  expect((await history([created({}, other)], {}, [])).entries).toBeUndefined();
});

it('reads so many events at most, and says where values before lie further back', async () => {
  const many = Array.from({ length: 3 * MAX_RECORD_HISTORY_EVENTS }, (_, n) => changed({ size: n }));
  const { entries, read, next } = await history([created({ name: 'A' }), ...many, changed({ name: 'B', size: -1 })]);
  expect(read).toBe(MAX_RECORD_HISTORY_EVENTS);
  expect(entries).toHaveLength(100);
  expect(entries?.[0]).toMatchObject({ fields: { name: pair(null, 'B') }, isComplete: false });
  expect(entries?.[1]).not.toHaveProperty('isComplete');
  expect(next).toBe(entries?.at(-1)?.revision);
});

it('a page ends before its events are too large, with at least one', async () => {
  const long = 'x'.repeat(900_000);
  const said = Array.from({ length: 40 }, () => changed({ name: long }, [long]));
  const { entries, next } = await history(said);
  expect(entries?.length).toBeGreaterThan(0);
  expect(entries?.length).toBeLessThan(10);
  expect(next).toBe(entries?.at(-1)?.revision);
});
