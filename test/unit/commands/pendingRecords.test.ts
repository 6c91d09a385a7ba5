/** What a process has appended to a table and the read model does not show yet: a decision sees it, until it is shown. */
import { PendingRecords } from '#app/commands/referenceTables/pendingRecords.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { packIds, type ReferenceTableEvent } from '#app/domain/referenceTable/events.js';
import type { StoredRecord } from '#app/ports/readModels.js';

const found = standardTables('dyn_stock_order').get('dyn_unit_code');
if (found === undefined) throw new Error('There is no dyn_unit_code.');
const UNITS = found;
const at = (minute: number): string => `2026-11-21T12:0${minute}:00.000000Z`;
const NOTHING = (): undefined => undefined;

const created = (id: string, code: string): ReferenceTableEvent => ({
  type: 'RecordCreated',
  data: { id, fields: { code, value: code } },
});
const changed = (id: string, set: { readonly [field: string]: string }): ReferenceTableEvent => ({
  type: 'RecordChanged',
  data: { id, set },
});
const shown = (id: string, code: string): StoredRecord =>
  ({ id, createdAt: at(0), updatedAt: at(0), batchId: 'monday', fields: { code, value: code } }) as StoredRecord;

const add = (
  records: PendingRecords,
  event: ReferenceTableEvent,
  revision: number,
  before: (id: string) => StoredRecord | undefined,
): void =>
  records.add(UNITS, { events: [{ ...event, id: '', metadata: {} as never }], revision, at: at(revision) }, before);

/** Each event is an append of its own: revisions and minutes count from 1. */
function appended(events: readonly ReferenceTableEvent[], before: (id: string) => StoredRecord | undefined = NOTHING) {
  const records = new PendingRecords();
  for (const [index, event] of events.entries()) add(records, event, index + 1, before);
  return records;
}

test('a record that was created is known by its id and its key', () => {
  const records = appended([created('1', 'A')]);
  const record = { id: '1', createdAt: at(1), updatedAt: at(1), fields: { code: 'A', value: 'A' } };
  expect(records.byId('1')).toMatchObject(record);
  expect(records.byKey('A')).toBe(records.byId('1'));
  expect([records.byId('2'), records.byKey('B')]).toEqual([undefined, undefined]);
  expect(records.end).toEqual({ revision: 1, lastEventAt: at(1) });
});

test('one that was changed keeps the rest, and is known by its new key alone', () => {
  const records = appended([changed('1', { code: 'B' })], () => shown('1', 'A'));
  expect(records.byId('1')).toEqual({ ...shown('1', 'A'), updatedAt: at(1), fields: { code: 'B', value: 'A' } });
  expect(records.byKey('B')?.id).toBe('1');
  expect(records.byKey('A')).toBeUndefined();
  const again = appended([created('1', 'A')]);
  add(again, changed('1', { code: 'B' }), 2, (id) => again.byId(id));
  expect([again.byKey('A'), again.byKey('B')?.id]).toEqual([undefined, '1']);
});

test('one that nobody knows is not made by a change of it', () => {
  expect(appended([changed('1', { value: 'x' })]).byId('1')).toBeUndefined();
});

test('one that a batch carried as it is has that batch id, and no new time', () => {
  const [one, other] = [1, 2].map((n) => `0190a000-0000-4000-8000-00000000000${n}`) as [string, string];
  const data = { created: [], changed: [], seen: packIds([one, other]), batchId: 'tuesday' };
  const records = appended([{ type: 'BatchUpserted', data }], (id) => (id === one ? shown(one, 'A') : undefined));
  expect(records.byId(one)).toEqual({ ...shown(one, 'A'), batchId: 'tuesday' });
  expect(records.byId(other)).toBeUndefined();
});

describe('what the read model shows is forgotten', () => {
  const three = () => appended([created('1', 'A'), created('2', 'B'), created('3', 'C')]);
  const known = (records: PendingRecords) => ['A', 'B', 'C'].filter((key) => records.byKey(key) !== undefined);

  test.each([
    [-1, ['A', 'B', 'C'], 3],
    [1, ['B', 'C'], 3],
    [2, ['C'], 3],
    [3, [], -1],
    [4, [], -1],
  ])('up to revision %i', (revision, left, end) => {
    const records = three();
    records.prune(revision);
    expect(known(records)).toEqual(left);
    expect(['1', '2', '3'].filter((id) => records.byId(id) !== undefined)).toHaveLength(left.length);
    expect(records.end.revision).toBe(end);
  });

  test('but not a record that was changed since', () => {
    const records = three();
    add(records, changed('1', { value: 'new' }), 4, (id) => records.byId(id));
    records.prune(3);
    expect(known(records)).toEqual(['A']);
    expect(records.byId('1')?.fields.value).toBe('new');
  });

  test('nor the new record of a key whose old one is shown', () => {
    const records = appended([created('1', 'A')]);
    add(records, changed('1', { code: 'B' }), 2, (id) => records.byId(id));
    add(records, created('2', 'A'), 3, (id) => records.byId(id));
    records.prune(2);
    expect([records.byKey('A')?.id, records.byKey('B')]).toEqual(['2', undefined]);
  });
});

test('a deletion is waited for until it is shown', () => {
  const records = new PendingRecords();
  expect(records.deletionAfter(-1)).toBeUndefined();
  records.addDeletion({ revision: 4, position: 40 });
  expect([3, 4, 5].map((revision) => records.deletionAfter(revision))).toEqual([40, undefined, undefined]);
});
