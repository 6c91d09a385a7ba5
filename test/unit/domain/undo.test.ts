/** What an undo writes; what it answers, and what it leaves alone, is seen over HTTP in test/acceptance/tables/cleanUp. */
import { dynParty } from '#app/domain/assetTypes/define.js';
import { type KnownRecord, upsertBatch } from '#app/domain/referenceTable/decide.js';
import { type BatchUpserted, packIds } from '#app/domain/referenceTable/events.js';
import { saysWhatItReplaces, undoBatch, undoCleanUp } from '#app/domain/referenceTable/undo.js';

const id = (n: number): string => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const party = (n: number, more: Partial<KnownRecord> = {}): KnownRecord => ({
  id: id(n),
  batchId: 'monday',
  fields: { external_id: `P${n}`, name: 'Old', city_name: null },
  ...more,
});
const named = (n: number, name: string) => party(n, { batchId: 'tuesday', fields: { external_id: `P${n}`, name } });
const known = (records: readonly KnownRecord[]) => ({
  byKey: (key: string) => records.find((record) => record.fields.external_id === key),
  byId: (wanted: string) => records.find((record) => record.id === wanted),
  formerId: () => undefined,
});

test('a clean-up: ids, values and batch ids come back, each batch id in an event', () => {
  const created = (n: number) => [{ id: id(n), fields: { external_id: `P${n}`, name: 'Old' } }];
  const event = { changed: [], seen: '', undoes: 7 };
  expect(undoCleanUp(dynParty, 7, [party(1), party(2, { batchId: null })], known([]))).toEqual({
    events: [
      { type: 'BatchUpserted', data: { ...event, batchId: 'monday', created: created(1) } },
      { type: 'BatchUpserted', data: { ...event, created: created(2) } },
    ],
    restored: 2,
    unchanged: 0,
    left: [],
  });
});

test('a clean-up: what has come back under another key, and a key that another record has, are left alone', () => {
  const now = [party(1, { fields: { external_id: 'Z', name: 'Old' } }), party(9, { fields: { external_id: 'P2' } })];
  expect(undoCleanUp(dynParty, 7, [party(1), party(2)], known(now))).toEqual({
    events: [],
    restored: 0,
    unchanged: 0,
    left: [
      { id: id(1), key: 'P1', reason: 'changed', fields: ['external_id'] },
      { id: id(2), key: 'P2', reason: 'key_taken', takenBy: id(9) },
    ],
  });
});

describe('a batch that changes P1, sees P2 again and creates P3', () => {
  function batchOf(before: readonly KnownRecord[], more: { batchId?: string } = { batchId: 'tuesday' }) {
    const items = ['New', 'Old', 'Made'].map((name, n) => ({ ...more, fields: { external_id: `P${n + 1}`, name } }));
    const decision = upsertBatch(dynParty, items, [id(1), id(2), id(3)], known(before));
    if (!decision.ok) throw new Error('The batch was refused.');
    return decision.events.map(({ data }) => data);
  }
  const undo = (batch: readonly BatchUpserted['data'][], now: readonly KnownRecord[]) =>
    undoBatch(dynParty, 7, batch, known(now));
  const undone = (data: object) => ({
    type: 'BatchUndone',
    data: { undoes: 7, changed: [], seen: '', deleted: '', ...data },
  });

  test('values and batch ids come back, each batch id in an event, and what it created is deleted', () => {
    const batch = batchOf([party(1), party(2, { batchId: null })]);
    expect(undo(batch, [named(1, 'New'), named(2, 'Old'), named(3, 'Made')])).toEqual({
      events: [
        undone({ batchId: 'monday', changed: [{ id: id(1), set: { name: 'Old' } }], deleted: packIds([id(3)]) }),
        undone({ batchId: null, seen: packIds([id(2)]) }),
      ],
      restored: 2,
      deleted: 1,
      unchanged: 0,
      left: [],
    });
  });

  test('batch ids stay where the batch had none', () => {
    const now = [party(1, { batchId: 'else', fields: { external_id: 'P1', name: 'New' } }), party(2)];
    const { events } = undo(batchOf([party(1), party(2)], {}), now);
    expect(events).toEqual([undone({ changed: [{ id: id(1), set: { name: 'Old' } }] })]);
  });

  test('what has other values or was deleted since is told and left alone; a later batch that saw it changed nothing', () => {
    const batch = batchOf([party(1), party(2)]);
    const left = [
      { id: id(3), key: 'P3', reason: 'changed', fields: ['name'] },
      { id: id(1), key: 'P1', reason: 'changed', fields: ['name'] },
    ];
    const since = [named(1, 'Newer'), party(2, { batchId: 'wednesday' }), named(3, 'Renamed')];
    expect(undo(batch, since)).toEqual({ events: [], restored: 0, deleted: 0, unchanged: 1, left });
    expect(undo(batch, [])).toMatchObject({ events: [], unchanged: 1, left: [{ reason: 'deleted' }, { id: id(2) }] });
    const filled = party(3, { batchId: 'tuesday', fields: { external_id: 'P3', name: 'Made', notes: 'since' } });
    expect(undo(batch, [party(1), party(2), filled]).left).toMatchObject([{ id: id(3), fields: ['notes'] }]);
  });
});

test.each<[boolean, Partial<BatchUpserted['data']>]>([
  [true, { created: [{ id: id(1), fields: {} }], batchId: 'b' }],
  [false, { seen: packIds([id(2)]), batchId: 'b' }],
  [false, { changed: [{ id: id(2), set: { name: 'X' } }], batchId: 'b' }],
  [true, { changed: [{ id: id(2), set: { name: 'X' }, was: [null] }] }],
  [false, { changed: [{ id: id(2), set: { name: 'X' }, was: [null] }], batchId: 'b' }],
  [true, { changed: [{ id: id(2), set: { name: 'X' }, was: [null] }], batchId: 'b', from: [[1, null]] }],
])('whether an event, of an earlier release too, says what it replaces: %s, %j', (says, data) => {
  expect(saysWhatItReplaces({ created: [], changed: [], seen: '', ...data })).toBe(says);
});

test('a batch whose values are large, old or new, is undone in several events', () => {
  const large = (mark: string) => ({ external_id: mark, notes: mark.repeat(60_000) });
  const before = [1, 2, 3].map((n) => party(n, { fields: { ...large('o'), external_id: `P${n}` } }));
  const items = [1, 2, 3].map((n) => ({ batchId: 'b', fields: { ...large('n'), external_id: `P${n}`, name: 'x' } }));
  const decision = upsertBatch(dynParty, items, ['', '', ''], known(before));
  if (!decision.ok) throw new Error('The batch was refused.');
  expect(decision.events.length).toBeGreaterThan(1);
  const now = items.map(({ fields }, n) => party(n + 1, { batchId: 'b', fields }));
  const { events, restored } = undoBatch(
    dynParty,
    7,
    decision.events.map(({ data }) => data),
    known(now),
  );
  expect(restored).toBe(3);
  const notes = events.flatMap(({ data }) => data.changed.map(({ set }) => set.notes));
  expect(notes).toEqual(before.map(({ fields }) => fields.notes));
});
