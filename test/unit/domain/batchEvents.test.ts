/** Events of a batch: each has a bounded size, and all of them carry everything once. What a batch does is tried over HTTP. */
import { dynParty } from '#app/domain/assetTypes/define.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { type KnownRecord, upsertBatch } from '#app/domain/referenceTable/decide.js';

const id = (n: number) => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const acme: KnownRecord = {
  id: id(1),
  batchId: 'monday',
  fields: { external_id: 'acme', name: 'Acme', city_name: null },
};
const input = (fields: RecordInput['fields'], more: Partial<RecordInput> = {}): RecordInput => ({ fields, ...more });
const nothing = { byKey: () => undefined, byId: () => undefined, formerId: () => undefined };

describe('a batch', () => {
  it('is cut into events of bounded size that carry everything once', () => {
    const items = Array.from({ length: 1000 }, (_, index) =>
      input({ external_id: `k${index}`, name: 'x'.repeat(200), notes: 'é'.repeat(2000) }, { batchId: 'b' }),
    );
    const ids = items.map((_, index) => id(index));
    const decision = upsertBatch(dynParty, items, ids, nothing);
    if (!decision.ok) throw new Error('refused');
    expect(decision.events.length).toBeGreaterThan(4);
    for (const event of decision.events) expect(Buffer.byteLength(JSON.stringify(event.data))).toBeLessThan(900_000);
    const keys = decision.events.flatMap((event) => event.data.created.map((record) => record.fields.external_id));
    expect(keys).toEqual(items.map((item) => item.fields.external_id));
  });

  const sizes = (events: readonly { data: object }[]) =>
    events.map(({ data }) => Buffer.byteLength(JSON.stringify(data)));
  const LARGEST = 450_000;

  it('counts for the size of its events what it replaces: values, batch ids, and texts in lists', () => {
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
        ...nothing,
        byKey: (key) => known.get(key),
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
      ...nothing,
      byKey: (key) => ({ ...(records[Number(key.slice(1))] ?? acme), fields: { external_id: key } }),
    });
    expect(decision).toMatchObject({ ok: true, counts: { unchanged: 500 }, events: [{ data: { batchId: 'new' } }] });
  });
});
