import { MAX_INDEXED_CHARACTERS } from '#app/domain/limits.js';
import { packIds } from '#app/domain/referenceTable/events.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { recordsProjection } from '#app/projections/records.js';
import { PIECE_WEIGHT, piecesOf } from '#app/projector/eventPieces.js';
import { changeWeight, eventWeight } from '#app/projector/weight.js';

const id = '0198c1f2-0000-7000-8000-000000000001';
const event = (category: string, type: string, data: unknown) =>
  ({
    stream: `${category}-acme.places`,
    type,
    data,
    revision: 3,
    position: 7,
    metadata: { occurredAt: '' },
  }) as RecordedEvent;
const weightOf = (category: string, type: string, data: unknown) => eventWeight(event(category, type, data));

const short = { id, fields: { name: 'Harbour', city: 'Rotterdam' } };
const long = { id, fields: { name: 'Harbour', story: 'x'.repeat(MAX_INDEXED_CHARACTERS) } };

test('records with short texts weigh one each, and so do ids', () => {
  expect(weightOf('table', 'RecordCreated', short)).toBe(1);
  const seen = packIds(Array.from({ length: 30 }, () => id));
  const batch = {
    batchId: 'b',
    created: [short, short],
    changed: [{ id, set: { name: 'Port' }, was: ['Harbour'] }],
    seen,
  };
  expect(weightOf('table', 'BatchUpserted', batch)).toBe(33);
  expect(weightOf('table', 'TableCleanedUp', { batchId: 'b', deleted: 19_000 })).toBe(19_000);
  expect(weightOf('order', 'OrderCreatedWithParts', { table: 'o', fields: {}, parts: [short, short, short] })).toBe(4);
});

test('long texts weigh by their characters, and less by those that no index has', () => {
  const weight = weightOf('table', 'RecordCreated', long);
  expect(weight).toBeGreaterThan(PIECE_WEIGHT);
  const longer = { id, fields: { story: 'x'.repeat(10 * MAX_INDEXED_CHARACTERS) } };
  expect(weightOf('table', 'RecordCreated', longer)).toBeGreaterThan(weight);
  expect(weightOf('table', 'RecordCreated', longer)).toBeLessThan(2 * weight);
  expect(changeWeight({ kind: 'patch', id, at: '', set: longer.fields })).toBe(
    weightOf('table', 'RecordChanged', { id, set: longer.fields }),
  );
});

test('an approval weighs little, however large the order is that it holds', () => {
  const snapshot = Array.from({ length: 1_000 }, () => long);
  expect(weightOf('order', 'OrderApproved', { status: { from: 'submitted', to: 'completed' }, snapshot })).toBe(1);
});

test.each([null, 'text', { created: 7, changed: null, seen: 3, deleted: 'many' }])(
  'data of another shape has a weight too: %j',
  (data) => {
    for (const type of ['RecordCreated', 'BatchUpserted', 'TableCleanedUp'])
      expect(weightOf('table', type, data)).toBeGreaterThan(0);
  },
);

test.each([
  ['a thousand records with short texts', Array.from({ length: 1_000 }, () => short), 10],
  ['ten with long ones', Array.from({ length: 10 }, () => long), 10],
])('%s are cut into ten pieces', async (_, created, count) => {
  const batch = event('table', 'BatchUpserted', { batchId: 'b', created, changed: [], seen: '' });
  const tenant = { name: 'acme', assetTypes: new Map(), orderModel: 'dyn_stock_order' };
  const known = () => tenant as unknown as ReturnType<Parameters<typeof piecesOf>[1]['known']>;
  const pieces = await piecesOf(recordsProjection, {
    event: batch,
    tenant: 'acme',
    weight: 0,
    sharesPosition: false,
    known,
  });
  // The last one moves the table to the event's revision.
  expect(pieces).toHaveLength(count + 1);
});
