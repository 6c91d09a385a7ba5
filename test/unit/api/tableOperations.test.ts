import { type OperationsPage, tableOperations } from '#app/api/assets/tableOperations.js';
import { MAX_OPERATION_EVENTS, MAX_OPERATION_RECORDS, MAX_OPERATIONS } from '#app/domain/limits.js';
import { packIds } from '#app/domain/referenceTable/events.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const id = '0190a000-0000-7000-8000-000000000001';
type Said = { readonly type: string; readonly data?: object; readonly request?: string };

/** Of a stream of these events, each of a request of its own where none is named. */
async function page(said: readonly Said[], before?: number): Promise<OperationsPage & { readonly read: number }> {
  const events = said.map(
    ({ type, data = {}, request }, revision): RecordedEvent => ({
      id: `${revision}`,
      type,
      data,
      stream: 's',
      revision,
      position: revision + 1,
      metadata: { ...metadata, causationId: request ?? `request ${revision}` },
    }),
  );
  let read = 0;
  const store = {
    lastAppend: async () =>
      events.length === 0 ? undefined : { revision: events.length - 1, position: events.length },
    readStream: async (_stream: string, from = 0, to = 0) => {
      read += to - from + 1;
      return events.slice(from, to + 1);
    },
  };
  return { ...(await tableOperations(store, 's', before)), read };
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
