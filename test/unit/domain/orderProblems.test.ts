/** What keeps an order from being approved; what its export names under keys that objects have of their own. */
import type { AssetType, RecordView } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { stockModel, transportModel } from '#app/domain/assetTypes/standardTables.js';
import { errorsOf, orderDocument, wholeOrder } from '#app/domain/order/document.js';
import type { ExportSnapshot, SnapshotPart } from '#app/domain/order/events.js';

const documentOf = (...asked: Parameters<typeof orderDocument>) => JSON.parse(JSON.stringify(orderDocument(...asked)));

const types: ReadonlyMap<string, AssetType> = new Map(
  [...stockModel, ...transportModel].map((type) => [type.name, type]),
);
const record = (id: string, fields: Fields = {}) => ({ id, created_at: '', updated_at: '', ...fields }) as RecordView;
const part = (table: string, id: string, fields: Fields): SnapshotPart => ({ table, record: record(id, fields) });
const related: ExportSnapshot['related'] = {
  dyn_party: { P1: record('p1') },
  dyn_item: { i1: record('i1', { base_unit_code_id: 'gone' }) },
  dyn_unit_code: { u1: record('u1') },
};
const stock = (order: Fields, ...lines: Fields[]): ExportSnapshot => ({
  table: 'dyn_stock_order',
  order: record('o', order),
  parts: lines.map((fields, n) => part('dyn_order_line', `l${n}`, { order_id: 'o', quantity: 1, ...fields })),
  related,
});
const transport = (consignment: Fields, ...goods: Fields[]): ExportSnapshot => ({
  table: 'dyn_transport_order',
  order: record('o'),
  parts: [
    part('dyn_consignment', 'c', { transport_order_id: 'o', ...consignment }),
    ...goods.map((fields, n) => part('dyn_goods', `g${n}`, { consignment_id: 'c', quantity: 1, ...fields })),
  ],
  related,
});
const problemsOf = (snapshot: ExportSnapshot) => wholeOrder(snapshot, types).problems;
const approval = { approvedAt: '2026-11-21T03:11:47.123456Z', approver: { id: 7 } as never };
/** Beside what it lacks. */
const spoiltOf = (snapshot: ExportSnapshot) => problemsOf(snapshot).filter(({ code }) => code !== 'missing');
const found = (snapshot: ExportSnapshot) => spoiltOf(snapshot).map(({ field, code }) => `${field} ${code}`);

it.each<[string, ExportSnapshot, readonly string[]]>([
  ['an order without references', stock({}, {}), []],
  ['references that resolve', stock({ buyer_customer_party_id: 'P1' }, { item_id: 'i1', unit_code_id: 'u1' }), []],
  [
    'references that do not',
    stock(
      { buyer_customer_party_id: 'P2', accounting_customer_party_id: 'constructor' },
      {},
      { item_id: 'i2', unit_code_id: 'u2' },
    ),
    [
      'buyer_customer_party_id unknown_reference',
      'accounting_customer_party_id unknown_reference',
      'lines.1.item_id unknown_reference',
      'lines.1.unit_code_id unknown_reference',
    ],
  ],
  [
    'quantities of nothing, or less',
    stock({}, { quantity: 0 }, { quantity: -1 }),
    ['lines.0.quantity not_positive', 'lines.1.quantity not_positive'],
  ],
  [
    'a transport',
    transport({ loading_location_id: 'L' }, { packing_type_id: 'x' }, { quantity: 0 }),
    [
      'consignments.0.loading_location_id unknown_reference',
      'consignments.0.goods.0.packing_type_id unknown_reference',
      'consignments.0.goods.1.quantity not_positive',
    ],
  ],
])('problems of %s', (_what, snapshot, expected) => {
  expect(found(snapshot)).toEqual(expected);
});

it('at most the first hundred are told, by field as in every refusal', () => {
  const many = problemsOf(stock({}, ...Array.from({ length: 300 }, () => ({ quantity: 0, item_id: 'x' }))));
  expect(Object.values(errorsOf(many)).flat()).toHaveLength(100);
  expect(errorsOf(many.filter(({ code }) => code !== 'missing').slice(0, 2))).toEqual({
    'lines.0.item_id': ['There is no record of dyn_item with the id x.'],
    'lines.0.quantity': ['The quantity must be more than 0.'],
  });
});

it('§2.3: an export expands what is named under keys that objects have of their own, and no others', () => {
  const named = stock({ buyer_customer_party_id: '__proto__', accounting_customer_party_id: 'constructor' });
  const own = { ...named, related: { dyn_party: JSON.parse('{"__proto__":{"id":"p","name":"Proto"}}') } };
  expect(documentOf(own, approval, types)).toMatchObject({
    approved_at: '2026-11-21 03:11:47',
    approved_by: 7,
    buyer_customer_party: { name: 'Proto' },
    left_out: [{ field: 'accounting_customer_party', reason: expect.stringContaining('constructor') }],
  });
});
