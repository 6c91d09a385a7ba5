/** Events of a batch: each has a bounded size, and all of them carry everything once. What a batch does is tried over HTTP. */

import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { dynParty } from '#app/domain/assetTypes/standardTables.js';
import { upsertBatch } from '#app/domain/referenceTable/decide.js';

const id = (n: number) => `0190a000-0000-7000-8000-${String(n).padStart(12, '0')}`;
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

  it('is cut in the same way where little of long records changes', () => {
    const fields = { external_id: 'k', name: 'tea', notes: 'x'.repeat(2_000) };
    const known = { ...nothing, byKey: () => ({ id: id(0), batchId: null, fields }) };
    const items = Array.from({ length: 1000 }, (_, index) => input({ ...fields, name: `tea ${index}` }));
    const decision = upsertBatch(dynParty, items, [], known);
    expect(decision.ok && decision.events.length).toBeGreaterThan(9);
  });
});
