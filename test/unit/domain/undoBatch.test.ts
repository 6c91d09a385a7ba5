import { dynParty } from '#app/domain/assetTypes/define.js';
import { type KnownRecord, upsertBatch } from '#app/domain/referenceTable/decide.js';
import { type BatchUpserted, packIds } from '#app/domain/referenceTable/events.js';
import { saysWhatItReplaces, undoBatch } from '#app/domain/referenceTable/undo.js';

const id = (n: number): string => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const party = (n: number, more: Partial<KnownRecord> = {}): KnownRecord => ({
  id: id(n),
  batchId: 'monday',
  fields: { external_id: `P${n}`, name: 'Old' },
  ...more,
});
const known = (records: readonly KnownRecord[]) => ({
  byKey: (key: string) => records.find((record) => record.fields.external_id === key),
  byId: (wanted: string) => records.find((record) => record.id === wanted),
  formerId: () => undefined,
});
const named = (n: number, name: string) => party(n, { batchId: 'tuesday', fields: { external_id: `P${n}`, name } });

/** P1 changes, P2 is seen again, P3 is new. */
function batchOf(
  before: readonly KnownRecord[],
  { batchId }: { batchId?: string } = { batchId: 'tuesday' },
): BatchUpserted['data'][] {
  const items = ['New', 'Old', 'Made'].map((name, n) => ({
    ...(batchId && { batchId }),
    fields: { external_id: `P${n + 1}`, name },
  }));
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

it('brings values and batch ids back, each batch id in an event, and deletes what the batch created', () => {
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

it('leaves the batch ids alone where the batch had none', () => {
  const batch = batchOf([party(1), party(2)], {});
  const now = [party(1, { batchId: 'else', fields: { external_id: 'P1', name: 'New' } }), party(2)];
  expect(undo(batch, now).events).toEqual([undone({ changed: [{ id: id(1), set: { name: 'Old' } }] })]);
});

it('tells and leaves alone what has other values, was sent by another batch, or was deleted since', () => {
  const batch = batchOf([party(1), party(2)]);
  const since = [named(1, 'Newer'), party(2, { batchId: 'wednesday' }), named(3, 'Renamed')];
  const left = [
    { id: id(3), key: 'P3', reason: 'changed', fields: ['name'] },
    { id: id(1), key: 'P1', reason: 'changed', fields: ['name'] },
    { id: id(2), key: 'P2', reason: 'changed', fields: ['_batch_id'] },
  ];
  expect(undo(batch, since)).toEqual({ events: [], restored: 0, deleted: 0, unchanged: 0, left });
  expect(undo(batch, [])).toMatchObject({ events: [], unchanged: 1, left: [{ reason: 'deleted' }, { id: id(2) }] });
  const filled = named(3, 'Made');
  const more = { ...filled, fields: { ...filled.fields, notes: 'filled in since' } };
  expect(undo(batch, [party(1), party(2), more]).left).toMatchObject([{ id: id(3), fields: ['notes'] }]);
});

it('repeated, has nothing to do', () => {
  expect(undo(batchOf([party(1), party(2)]), [party(1), party(2)])).toMatchObject({
    events: [],
    unchanged: 3,
    left: [],
  });
});

it('is known to be impossible of a batch that an earlier release has written, unless it only creates', () => {
  const data = { created: [{ id: id(1), fields: {} }], changed: [], seen: '', batchId: 'b' };
  expect(saysWhatItReplaces(data)).toBe(true);
  expect(saysWhatItReplaces({ ...data, seen: packIds([id(2)]) })).toBe(false);
  expect(saysWhatItReplaces({ ...data, changed: [{ id: id(2), set: { name: 'X' } }] })).toBe(false);
  expect(
    saysWhatItReplaces({ ...data, changed: [{ id: id(2), set: { name: 'X' }, was: [null] }], from: [[1, null]] }),
  ).toBe(true);
});

it('is possible without the batches before where the batch moved no record, and not where it only saw records again', () => {
  const data = { created: [], changed: [{ id: id(2), set: { name: 'X' }, was: [null] }], seen: '' };
  expect(saysWhatItReplaces(data)).toBe(true);
  expect(saysWhatItReplaces({ ...data, batchId: 'b' })).toBe(false);
  expect(saysWhatItReplaces({ ...data, changed: [], seen: packIds([id(2)]), batchId: 'b' })).toBe(false);
});

it('of a batch that only created deletes in one event, and a record that is gone already counts as unchanged', () => {
  const batch = batchOf([]);
  expect(undo(batch, [named(1, 'New'), named(3, 'Made')])).toEqual({
    events: [undone({ deleted: packIds([id(1), id(3)]) })],
    restored: 0,
    deleted: 2,
    unchanged: 1,
    left: [],
  });
  expect(undo(batch, [])).toMatchObject({ events: [], unchanged: 3 });
});

it('cuts a batch whose values, old or new, are large', () => {
  const large = (mark: string) => ({ external_id: mark, notes: mark.repeat(60_000) });
  const before = [1, 2, 3].map((n) => party(n, { fields: { ...large('o'), external_id: `P${n}` } }));
  const items = [1, 2, 3].map((n) => ({ batchId: 'b', fields: { ...large('n'), external_id: `P${n}`, name: 'x' } }));
  const decision = upsertBatch(dynParty, items, ['', '', ''], known(before));
  if (!decision.ok) throw new Error('The batch was refused.');
  const batch = decision.events.map(({ data }) => data);
  expect(batch.length).toBeGreaterThan(1);
  const now = items.map(({ fields }, n) => party(n + 1, { batchId: 'b', fields }));
  const { events, restored } = undo(batch, now);
  expect(restored).toBe(3);
  expect(events.flatMap(({ data }) => data.changed.map(({ set }) => set.notes))).toEqual(
    before.map(({ fields }) => fields.notes),
  );
});
