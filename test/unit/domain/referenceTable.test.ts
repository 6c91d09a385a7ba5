import { dynParty } from '#app/domain/assetTypes/define.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import {
  createRecord,
  duplicateKeys,
  type KnownRecord,
  updateRecord,
  upsertBatch,
} from '#app/domain/referenceTable/decide.js';
import { packIds, unpackIds } from '#app/domain/referenceTable/events.js';

const id = (n: number) => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;

const known = (...records: KnownRecord[]) => ({
  byKey: (key: string) => records.find((record) => record.fields.external_id === key),
  byId: (wanted: string) => records.find((record) => record.id === wanted),
  formerId: (key: string) => (key === 'gone' ? id(7) : undefined),
});

const acme: KnownRecord = {
  id: id(1),
  batchId: 'monday',
  fields: { external_id: 'acme', name: 'Acme', city_name: null },
};
const input = (fields: RecordInput['fields'], more: Partial<RecordInput> = {}): RecordInput => ({ fields, ...more });

describe('a reference table, given known records, when a command, then events', () => {
  it('creates a record; null fields are left out of the event', () => {
    expect(createRecord(dynParty, input({ external_id: 'b', name: 'B', city_name: null }), id(2), known(acme))).toEqual(
      {
        ok: true,
        events: [{ type: 'RecordCreated', data: { id: id(2), fields: { external_id: 'b', name: 'B' } } }],
      },
    );
  });

  it('refuses a taken key and a taken id, naming the field', () => {
    expect(createRecord(dynParty, input({ external_id: 'acme', name: 'X' }), id(2), known(acme))).toMatchObject({
      ok: false,
      errors: { external_id: [expect.stringContaining('"acme"')] },
    });
    expect(
      createRecord(dynParty, input({ external_id: 'b', name: 'X' }, { id: id(1) }), id(2), known(acme)),
    ).toMatchObject({
      ok: false,
      errors: { id: [expect.any(String)] },
    });
  });

  it('gives a key that a clean-up deleted its id back, unless the body names one or a record has it by now', () => {
    const gone = { external_id: 'gone', name: 'X' };
    const idOf = (more: Partial<RecordInput>, ...records: KnownRecord[]) => {
      const decision = createRecord(dynParty, input(gone, more), id(2), known(...records));
      return decision.ok ? decision.events[0]?.data.id : undefined;
    };
    expect(idOf({})).toBe(id(7));
    expect(idOf({ id: id(3) })).toBe(id(3));
    expect(idOf({}, { ...acme, id: id(7) })).toBe(id(2));
  });

  it('updates only what differs, and nothing when nothing does', () => {
    expect(updateRecord(dynParty, acme, input({ name: 'Acme', city_name: 'Gent' }), known(acme))).toEqual({
      ok: true,
      events: [{ type: 'RecordChanged', data: { id: id(1), set: { city_name: 'Gent' } } }],
    });
    expect(updateRecord(dynParty, acme, input({ name: 'Acme' }), known(acme))).toEqual({ ok: true, events: [] });
  });

  it('refuses an update to another record’s key', () => {
    const other = { ...acme, id: id(2), fields: { external_id: 'b', name: 'B' } };
    expect(updateRecord(dynParty, other, input({ external_id: 'acme' }), known(acme, other)).ok).toBe(false);
  });
});

describe('§4.7 a batch', () => {
  const batch = (items: RecordInput[], ...records: KnownRecord[]) =>
    upsertBatch(
      dynParty,
      items,
      items.map((_, index) => id(100 + index)),
      known(...records),
    );

  it('creates, changes and sees again in one event for each batch id', () => {
    const decision = batch(
      [
        input({ external_id: 'acme', name: 'Acme' }, { batchId: 'tuesday' }),
        input({ external_id: 'new', name: 'New' }, { batchId: 'tuesday' }),
        input({ external_id: 'b', name: 'Other' }, { batchId: 'tuesday' }),
        input({ external_id: 'plain', name: 'Plain' }),
      ],
      acme,
      { ...acme, id: id(2), fields: { external_id: 'b', name: 'B' } },
    );
    expect(decision).toEqual({
      ok: true,
      counts: { created: 2, updated: 1, unchanged: 1 },
      events: [
        {
          type: 'BatchUpserted',
          data: {
            batchId: 'tuesday',
            created: [{ id: id(101), fields: { external_id: 'new', name: 'New' } }],
            changed: [{ id: id(2), set: { name: 'Other' }, was: ['B'] }],
            seen: packIds([id(1)]),
            from: [[2, acme.batchId]],
          },
        },
        {
          type: 'BatchUpserted',
          data: { created: [{ id: id(103), fields: { external_id: 'plain', name: 'Plain' } }], changed: [], seen: '' },
        },
      ],
    });
  });

  it('writes nothing for an unchanged item with the same batch id, or with none', () => {
    const same = batch([input({ external_id: 'acme', name: 'Acme' }, { batchId: 'monday' })], acme);
    expect(same).toEqual({ ok: true, counts: { created: 0, updated: 0, unchanged: 1 }, events: [] });
    expect(batch([input({ external_id: 'acme', name: 'Acme' })], acme)).toMatchObject({ events: [] });
  });

  it('reports every conflict under its item', () => {
    const decision = batch(
      [
        input({ external_id: 'acme', name: 'A' }, { id: id(9) }),
        input({ external_id: 'x', name: 'X' }, { id: id(1) }),
        input({ external_id: 'y', name: 'Y' }, { id: id(50) }),
        input({ external_id: 'z', name: 'Z' }, { id: id(50) }),
      ],
      acme,
    );
    expect(decision.ok ? [] : Object.keys(decision.errors)).toEqual(['items.0.id', 'items.1.id', 'items.3.id']);
  });

  it('names the later of two items with the same key', () => {
    const items = ['a', 'b', 'a'].map((key, index) => ({ index, input: input({ external_id: key }) }));
    expect(Object.keys(duplicateKeys(dynParty, items))).toEqual(['items.2.external_id']);
  });

  it('is cut into events of bounded size that carry everything once', () => {
    const items = Array.from({ length: 1000 }, (_, index) =>
      input({ external_id: `k${index}`, name: 'x'.repeat(200), notes: 'é'.repeat(2000) }, { batchId: 'b' }),
    );
    const decision = batch(items);
    if (!decision.ok) throw new Error('refused');
    expect(decision.events.length).toBeGreaterThan(4);
    for (const event of decision.events) expect(Buffer.byteLength(JSON.stringify(event.data))).toBeLessThan(900_000);
    const keys = decision.events.flatMap((event) => event.data.created.map((record) => record.fields.external_id));
    expect(keys).toEqual(items.map((item) => item.fields.external_id));
  });
});

it('ids are packed into 16 bytes each and come back as they were', () => {
  const ids = [id(1), 'ffffffff-ffff-4fff-bfff-ffffffffffff', id(3)];
  expect(Buffer.from(packIds(ids), 'base64')).toHaveLength(48);
  expect(unpackIds(packIds(ids))).toEqual(ids);
  expect(unpackIds('')).toEqual([]);
});
