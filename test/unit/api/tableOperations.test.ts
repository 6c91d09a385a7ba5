import { type OperationsPage, type OperationsQuery, tableOperations } from '#app/api/assets/tableOperations.js';
import { MAX_OPERATION_EVENTS, MAX_OPERATION_RECORDS, MAX_OPERATIONS } from '#app/domain/limits.js';
import { packIds } from '#app/domain/referenceTable/events.js';
import type { RecordedEvent, SliceRange } from '#app/ports/eventStore.js';
import { Cancellation } from '#app/supervision/cancellation.js';
import { metadata, sliceOf } from '../../contract/eventStoreFixtures.js';

const id = '0190a000-0000-7000-8000-000000000001';
type Said = { readonly type: string; readonly data?: object; readonly request?: string; readonly at?: string };

/** Of a stream of these events, each of a request of its own where none is named. */
async function page(
  said: readonly Said[],
  before?: number,
  query: OperationsQuery = {},
): Promise<OperationsPage & { readonly read: number }> {
  const events = said.map(
    ({ type, data = {}, request, at = metadata.occurredAt }, revision): RecordedEvent => ({
      id: `${revision}`,
      type,
      data,
      stream: 's',
      revision,
      position: revision + 1,
      metadata: { ...metadata, occurredAt: at, causationId: request ?? `request ${revision}` },
    }),
  );
  let read = 0;
  const store = {
    lastAppend: async () =>
      events.length === 0 ? undefined : { revision: events.length - 1, position: events.length },
    readSlice: async (_stream: string, range: SliceRange) => {
      const slice = sliceOf(events, range);
      read += slice.events.length;
      return slice;
    },
  };
  return { ...(await tableOperations(store, 's', { before, ...query })), read };
}
const batch = (created: number, more: object = {}): Said => ({
  type: 'BatchUpserted',
  data: { batchId: 'b', created: Array.from({ length: created }, () => ({})), changed: [], seen: '', ...more },
});
const created: Said = { type: 'RecordCreated' };
const cleanedUp: Said = { type: 'TableCleanedUp', data: { batchId: 'b', deleted: 7 } };
const revisions = ({ operations }: OperationsPage) => operations.map(({ revision }) => revision);

it('counts what was created, changed, sent again and deleted, and passes over single records', async () => {
  const said = [batch(2), created, batch(0, { changed: [{}], seen: packIds([id, id, id]) }), created, cleanedUp];
  const { operations, next } = await page(said);
  expect(operations).toMatchObject([
    { revision: 4, kind: 'clean_up', batchIds: ['b'], deleted: 7 },
    { revision: 2, kind: 'batch', created: 0, updated: 1, seen: 3 },
    { revision: 0, kind: 'batch', created: 2 },
  ]);
  expect(next).toBeUndefined();
  expect(await page([])).toMatchObject({ operations: [] });
});

it('a batch of several events is one operation, named by the first, also where it begins before what is read at once', async () => {
  const parts = Array.from({ length: 50 }, (_, n) => ({ ...batch(1, { batchId: `b${n % 2}` }), request: 'one' }));
  const { operations } = await page([created, ...parts, batch(1)]);
  expect(operations).toMatchObject([
    { revision: 51, created: 1 },
    { revision: 1, created: 50, batchIds: ['b1', 'b0'].toSorted() },
  ]);
});

it('a page ends with as many operations, events or records as it may have, never within an operation', async () => {
  const many = await page(Array.from({ length: 60 }, () => batch(1)));
  expect(revisions(many)).toHaveLength(MAX_OPERATIONS);
  expect(many.next).toBe(35);
  expect(
    revisions(
      await page(
        Array.from({ length: 60 }, () => batch(1)),
        35,
      ),
    )[0],
  ).toBe(34);

  const singles = await page([batch(1), ...Array.from({ length: 2 * MAX_OPERATION_EVENTS }, () => created)]);
  expect(singles).toMatchObject({ operations: [], next: MAX_OPERATION_EVENTS + 1 });
  expect(singles.read).toBeLessThan(MAX_OPERATION_EVENTS + 50);

  const half = MAX_OPERATION_RECORDS / 2;
  const part = { ...batch(half), request: 'one' };
  expect(await page([batch(1), part, part, part])).toMatchObject({ operations: [{ revision: 1 }], next: 1 });
});

describe('asked for a time, an actor or a kind', () => {
  const at = (minute: number) => `2026-11-21T03:${String(minute).padStart(2, '0')}:00.000000Z`;
  const hour = Array.from({ length: 60 }, (_, minute) => ({ ...batch(1), at: at(minute) }));

  it('looks at no event behind the time but to find it, and at none before it', async () => {
    const { operations, next, read } = await page(hour, undefined, { from: at(10), to: at(12) });
    expect(operations.map((operation) => operation.at)).toEqual([at(12), at(11), at(10)]);
    expect(next).toBeUndefined();
    expect(read).toBeLessThan(2 * 20);
    expect(await page(hour, undefined, { to: '2026-11-21T02:59:59.999999Z' })).toMatchObject({ operations: [] });
    expect(revisions(await page(hour, undefined, { from: at(59) }))).toEqual([59]);
    expect(revisions(await page(hour, undefined, { from: at(12), to: at(10) }))).toEqual([]);
    expect(revisions(await page(hour, undefined, { to: '2026-11-22T00:00:00.000000Z' }))[0]).toBe(59);
  });

  it('a page looks at as many events as another one, whether they are wanted or not, and goes on behind them', async () => {
    const said = [cleanedUp, ...Array.from({ length: MAX_OPERATION_EVENTS }, () => batch(0)), cleanedUp];
    const query: OperationsQuery = { isWanted: ({ kind }) => kind === 'clean_up' };
    const first = await page(said, undefined, query);
    expect(revisions(first)).toEqual([said.length - 1]);
    expect(first.next).toBe(2);
    expect(first.read).toBeLessThan(MAX_OPERATION_EVENTS + 50);
    const second = await page(said, first.next, query);
    expect([revisions(second), second.next]).toEqual([[0], undefined]);
  });
});

it('the pieces of an undo are one operation, also where others have written in between; a page may cut it', async () => {
  const piece = { ...batch(1, { undoes: 0 }), request: 'undo' };
  const { operations } = await page([cleanedUp, piece, created, piece, created, piece]);
  expect(operations).toMatchObject([
    { revision: 1, kind: 'undo', created: 3, undoes: 0 },
    { revision: 0, kind: 'clean_up' },
  ]);
  const many = await page(Array.from({ length: MAX_OPERATION_EVENTS + 10 }, () => piece));
  expect(many).toMatchObject({ operations: [{ created: MAX_OPERATION_EVENTS }], next: 10 });
});

test('reading ends soon after its cancellation', async () => {
  const cancellation = new Cancellation();
  let slices = 0;
  const store = {
    lastAppend: async () => ({ revision: 999, position: 1_000 }),
    readSlice: async () => {
      slices += 1;
      if (slices === 2) cancellation.cancel(new Error('The client has left.'));
      return { events: [], next: 999 - slices };
    },
  };
  await expect(tableOperations(store, 's', {}, cancellation)).rejects.toThrow('The client has left.');
  expect(slices).toBe(2);
});
