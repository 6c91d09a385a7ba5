import { dynParty } from '#app/domain/assetTypes/define.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { changedIds, checkChange, type RecordChange, tableChanges } from '#app/domain/referenceTable/changes.js';
import {
  changedFields,
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

  it.each([
    ['external_id', input({ external_id: 'acme', name: 'X' })],
    ['id', input({ external_id: 'b', name: 'X' }, { id: id(1) })],
  ])('refuses a taken %s', (field, sent) => {
    const errors = { [field]: [expect.any(String)] };
    expect(createRecord(dynParty, sent, id(2), known(acme))).toEqual({ ok: false, errors });
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
      events: [{ type: 'RecordChanged', data: { id: id(1), set: { city_name: 'Gent' }, was: [null] } }],
    });
    expect(updateRecord(dynParty, acme, input({ name: 'Acme' }), known(acme))).toEqual({ ok: true, events: [] });
  });

  it('refuses an update with another id than its own; the key that a record has, a record may keep', () => {
    expect(updateRecord(dynParty, acme, input({ name: 'B' }, { id: id(2) }), known(acme))).toMatchObject({
      ok: false,
      errors: { id: [expect.stringContaining('the one in the path')] },
    });
    const sent = input({ external_id: 'acme', name: 'B' }, { id: id(1) });
    expect(updateRecord(dynParty, acme, sent, known(acme))).toMatchObject({
      ok: true,
      events: [{ data: { set: { name: 'B' } } }],
    });
    expect(updateRecord(dynParty, acme, input({ external_id: 'renamed' }), known(acme))).toMatchObject({
      ok: true,
      events: [{ data: { set: { external_id: 'renamed' } } }],
    });
  });

  it('compares lists by what is in them: error reasons that are sent again change nothing', () => {
    const before = { reasons: ['a', 'b'], other: 'a' };
    expect(changedFields(before, { reasons: ['a', 'b'] })).toEqual({});
    expect(changedFields(before, { reasons: ['b', 'a'], other: ['a'] })).toEqual({ reasons: ['b', 'a'], other: ['a'] });
    expect(changedFields(before, { other: 'a', missing: null })).toEqual({});
    expect(changedFields(before, { reasons: null })).toEqual({ reasons: null });
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

  it('says of each conflict what it is', () => {
    const decision = batch(
      [
        input({ external_id: 'acme', name: 'A' }, { id: id(9) }),
        input({ external_id: 'x', name: 'X' }, { id: id(1) }),
        input({ external_id: 'acme', name: 'Same id' }, { id: id(1) }),
      ],
      acme,
    );
    expect(decision).toEqual({
      ok: false,
      errors: {
        'items.0.id': [`The id differs from ${id(1)}, the record with this external_id.`],
        'items.1.id': [`The id ${id(1)} belongs to another record.`],
      },
    });
    const twice = ['a', 'a'].map((key, index) => ({ index, input: input({ external_id: key }) }));
    expect(duplicateKeys(dynParty, twice)).toEqual({
      'items.1.external_id': ['The external_id "a" is given twice: also in item 0.'],
    });
  });

  it('gives a former id to one record only: to the first that wants it, and not where a record has it', () => {
    const gone = input({ external_id: 'gone', name: 'X' });
    const idsOf = (items: RecordInput[], ...records: KnownRecord[]) => {
      const decision = batch(items, ...records);
      return decision.ok ? decision.events.flatMap(({ data }) => data.created.map((record) => record.id)) : decision;
    };
    expect(idsOf([gone])).toEqual([id(7)]);
    expect(idsOf([input({ external_id: 'x', name: 'X' }, { id: id(7) }), gone])).toEqual([id(7), id(101)]);
    expect(idsOf([gone], { ...acme, id: id(7) })).toEqual([id(100)]);
  });

  it('believes a record that tells by itself that it has the values, and looks where it does not', () => {
    const has = jest.fn(() => true);
    const record = { ...acme, has };
    const changed = input({ external_id: 'acme', name: 'Other' });
    expect(batch([changed], record)).toMatchObject({ counts: { unchanged: 1 } });
    expect(has).toHaveBeenCalledWith(changed.fields);
    expect(batch([changed], { ...acme, has: () => false })).toMatchObject({ counts: { updated: 1 } });
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

describe('what a batch replaces', () => {
  const sizes = (events: readonly { data: object }[]) =>
    events.map(({ data }) => Buffer.byteLength(JSON.stringify(data)));
  const LARGEST = 450_000;

  it('counts for the size of its events: what records had before, their batch ids, and texts in lists', () => {
    const texts = (mark: string) => ({ notes: mark.repeat(30_000), lists: [mark.repeat(30_000)] });
    const cases = [
      // Each record came from a batch of its own, with a name of 200 characters of three bytes.
      { from: (n: number) => `${n}`.padEnd(200, '€'), before: {}, wanted: {} },
      { from: () => 'monday', before: texts('€'), wanted: { notes: null, lists: null } },
      { from: () => 'monday', before: {}, wanted: texts('€') },
    ];
    for (const { from, before, wanted } of cases) {
      const records = Array.from({ length: 1000 }, (_, n) => ({
        id: id(n),
        batchId: from(n),
        fields: { external_id: `k${n}`, ...(n < 20 ? before : {}) },
      }));
      const items = records.map(({ fields }, n) =>
        input({ external_id: fields.external_id, ...(n < 20 ? wanted : {}) }, { batchId: 'new' }),
      );
      const known = new Map(records.map((record) => [record.fields.external_id, record]));
      const decision = upsertBatch(dynParty, items, Array(1000).fill(''), {
        byKey: (key) => known.get(key),
        byId: () => undefined,
        formerId: () => undefined,
      });
      if (!decision.ok) throw new Error('refused');
      expect(Math.max(...sizes(decision.events))).toBeLessThan(LARGEST);
      // No more events than the bytes take, if each estimate is at most thrice as large.
      const all = sizes(decision.events).reduce((sum, size) => sum + size);
      expect(decision.events.length).toBeLessThanOrEqual(1 + Math.ceil((3 * all) / 400_000));
    }
  });

  it('is one event where all comes from one batch, however long its name', () => {
    const records = Array.from({ length: 500 }, (_, n) => ({ ...acme, id: id(n), batchId: 'b'.repeat(255) }));
    const items = records.map((_, n) => input({ external_id: `k${n}` }, { batchId: 'new' }));
    const decision = upsertBatch(dynParty, items, [], {
      byKey: (key) => ({ ...(records[Number(key.slice(1))] ?? acme), fields: { external_id: key } }),
      byId: () => undefined,
      formerId: () => undefined,
    });
    expect(decision).toMatchObject({ ok: true, counts: { unchanged: 500 }, events: [{ data: { batchId: 'new' } }] });
  });
});

describe('what an event changes in its table', () => {
  const at = '2026-11-25T10:00:00.000000Z';
  const upserted = (data: object) => ({
    type: 'BatchUpserted' as const,
    data: { created: [], changed: [], seen: '', ...data },
  });
  const changed = [{ id: id(1), set: { name: 'N' } }];

  it('is a record, a change, or a clean-up', () => {
    const fields = { external_id: 'a' };
    expect(tableChanges({ type: 'RecordCreated', data: { id: id(1), fields } }, at)).toEqual([
      { kind: 'insert', id: id(1), at, batchId: null, fields },
    ]);
    expect(tableChanges({ type: 'RecordChanged', data: { id: id(1), set: fields } }, at)).toEqual([
      { kind: 'patch', id: id(1), at, set: fields },
    ]);
    expect(tableChanges({ type: 'TableCleanedUp', data: { batchId: 'b', deleted: 3 } }, at)).toEqual([
      { kind: 'cleanUp', batchId: 'b' },
    ]);
  });

  it('of a batch with a batch id moves all that it names there, null as well; without one it moves none', () => {
    const created = [{ id: id(2), fields: { external_id: 'b' } }];
    for (const batchId of ['b', null]) {
      expect(tableChanges(upserted({ batchId, created, changed, seen: packIds([id(3)]) }), at)).toEqual([
        { kind: 'insert', id: id(2), at, batchId, fields: { external_id: 'b' } },
        { kind: 'patch', id: id(1), at, set: { name: 'N' }, batchId },
        { kind: 'seen', ids: [id(3)], batchId },
      ]);
    }
    expect(tableChanges(upserted({ created, changed }), at)).toEqual([
      { kind: 'insert', id: id(2), at, batchId: null, fields: { external_id: 'b' } },
      { kind: 'patch', id: id(1), at, set: { name: 'N' } },
    ]);
    expect(tableChanges(upserted({ batchId: 'b', changed }), at)).toHaveLength(1);
    expect(tableChanges(upserted({ seen: packIds([id(3)]) }), at)).toEqual([]);
  });

  it('of an undo deletes first what the batch had created', () => {
    const data = { undoes: 1, batchId: 'a', changed, seen: packIds([id(3)]), deleted: packIds([id(4), id(5)]) };
    expect(tableChanges({ type: 'BatchUndone', data }, at)).toEqual([
      { kind: 'delete', id: id(4) },
      { kind: 'delete', id: id(5) },
      { kind: 'patch', id: id(1), at, set: { name: 'N' }, batchId: 'a' },
      { kind: 'seen', ids: [id(3)], batchId: 'a' },
    ]);
  });

  it('names the records that show something else then, in the form in which ids are stored', () => {
    const ids = (event: Parameters<typeof changedIds>[0]) => changedIds(event);
    const upper = id(1).replace('a', 'A');
    expect(ids(upserted({ batchId: 'b', changed: [{ id: upper, set: {} }], seen: packIds([id(3)]) }))).toEqual({
      ids: [id(1)],
      isCleanUp: false,
    });
    expect(ids({ type: 'TableCleanedUp', data: { batchId: 'b', deleted: 3 } })).toEqual({ ids: [], isCleanUp: true });
  });

  it.each([
    { kind: 'insert', id: 7, at, batchId: null, fields: {} },
    { kind: 'insert', id: id(1), at, batchId: null, fields: null },
    { kind: 'insert', id: id(1), at, batchId: null, fields: [] },
    { kind: 'insert', id: id(1), at, batchId: 7, fields: {} },
    { kind: 'patch', id: undefined, at, set: {} },
    { kind: 'patch', id: id(1), at, set: 'name' },
    { kind: 'patch', id: id(1), at, set: {}, batchId: {} },
    { kind: 'delete', id: null },
    { kind: 'seen', ids: [], batchId: 7 },
    { kind: 'cleanUp', batchId: null },
  ])('is refused before it reaches an engine where it has another shape: %j', (change) => {
    expect(() => checkChange(change as unknown as RecordChange)).toThrow(change.kind);
  });
});

it('ids are packed into 16 bytes each and come back as they were', () => {
  const ids = [id(1), 'ffffffff-ffff-4fff-bfff-ffffffffffff', id(3)];
  expect(Buffer.from(packIds(ids), 'base64')).toHaveLength(48);
  expect(unpackIds(packIds(ids))).toEqual(ids);
  expect(unpackIds('')).toEqual([]);
});
