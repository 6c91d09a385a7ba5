import { dynParty } from '#app/domain/assetTypes/define.js';
import type { KnownRecord } from '#app/domain/referenceTable/decide.js';
import { undoCleanUp } from '#app/domain/referenceTable/undo.js';

const party = (key: string, name: string, more: Partial<KnownRecord> = {}): KnownRecord => ({
  id: `id of ${key}`,
  batchId: 'monday',
  fields: { external_id: key, name, city_name: null },
  ...more,
});
const known = (...records: KnownRecord[]) => ({
  byKey: (key: string) => records.find((record) => record.fields.external_id === key),
  byId: (id: string) => records.find((record) => record.id === id),
  formerId: () => undefined,
});
const undo = (deleted: readonly KnownRecord[], ...records: KnownRecord[]) =>
  undoCleanUp(dynParty, 7, deleted, known(...records));

it('brings back ids, values and batch ids, and says which clean-up that undoes', () => {
  const deleted = [party('a', 'A'), party('b', 'B', { batchId: null })];
  expect(undo(deleted)).toEqual({
    events: [
      {
        type: 'BatchUpserted',
        data: {
          batchId: 'monday',
          created: [{ id: 'id of a', fields: { external_id: 'a', name: 'A' } }],
          changed: [],
          seen: '',
          undoes: 7,
        },
      },
      {
        type: 'BatchUpserted',
        data: {
          created: [{ id: 'id of b', fields: { external_id: 'b', name: 'B' } }],
          changed: [],
          seen: '',
          undoes: 7,
        },
      },
    ],
    restored: 2,
    unchanged: 0,
    left: [],
  });
});

it('leaves alone what has come back, and says where it has other values', () => {
  const now = [party('a', 'A', { batchId: 'tuesday' }), party('b', 'New')];
  expect(undo([party('a', 'A'), party('b', 'B')], ...now)).toEqual({
    events: [],
    restored: 0,
    unchanged: 1,
    left: [{ id: 'id of b', key: 'b', reason: 'changed', fields: ['name'] }],
  });
});

it('leaves alone what has come back under another key, and a key that another record has', () => {
  const renamed = party('z', 'A', { id: 'id of a' });
  const other = party('b', 'B', { id: 'other' });
  expect(undo([party('a', 'A'), party('b', 'B')], renamed, other)).toEqual({
    events: [],
    restored: 0,
    unchanged: 0,
    left: [
      { id: 'id of a', key: 'a', reason: 'changed', fields: ['external_id'] },
      { id: 'id of b', key: 'b', reason: 'key_taken', takenBy: 'other' },
    ],
  });
});
