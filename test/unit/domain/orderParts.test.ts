/** The parts that one request gives an order as a whole. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { FieldErrorList } from '#app/domain/assetTypes/fieldErrors.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import { transportModel } from '#app/domain/assetTypes/transportModel.js';
import { MAX_ERRORS } from '#app/domain/limits.js';
import type { OrderPart } from '#app/domain/order/order.js';
import { decideParts, type GivenPart, type NamedList } from '#app/domain/order/parts.js';

const types = new Map(transportModel.map((type) => [type.name, type]));
const typeOf = (table: string): AssetType => types.get(table) as AssetType;
const uuid = (n: number, version = 4): string => `0190a000-0000-${version}000-8000-${String(n).padStart(12, '0')}`;
const ORDER = uuid(99);
const at = '2026-11-21T00:00:00.000000Z';

const known = (table: string, n: number, parent: string, fields: Fields = {}): OrderPart => ({
  table,
  id: uuid(n),
  fields: { [typeOf(table).parent?.field ?? '']: parent, ...fields },
  createdAt: at,
  updatedAt: at,
});
const sent = (path: string, table: string, n: number, parentId: string, body: Fields, version = 4): GivenPart => ({
  path,
  assetType: typeOf(table),
  id: uuid(n, version),
  isChosen: true,
  parentId,
  body,
});

function toEnd<Result>(work: Generator<void, Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}

function decided(parts: readonly OrderPart[], lists: readonly NamedList[], given: readonly GivenPart[]) {
  const errors = new FieldErrorList();
  const known = new Map(parts.map((part) => [part.id, part]));
  const { change, chosen } = toEnd(decideParts(types, known, { lists, parts: given }, errors));
  const ids = (some: readonly { readonly id: string }[]) => some.map(({ id }) => Number(id.slice(-12)));
  const { added, changed, removed } = change;
  return {
    added: ids(added),
    changed: ids(changed),
    removed: ids(removed),
    chosen: ids(chosen),
    errors: Object.keys(errors.toErrors()),
  };
}

const consignments: NamedList = { table: 'dyn_consignment', parentId: ORDER };
const goodsOf = (n: number): NamedList => ({ table: 'dyn_goods', parentId: uuid(n) });
const order = [
  known('dyn_consignment', 1, ORDER),
  known('dyn_goods', 2, uuid(1), { quantity: 2 }),
  known('dyn_goods', 3, uuid(1), { quantity: 3 }),
  known('dyn_consignment', 4, ORDER),
  known('dyn_goods', 5, uuid(4), { quantity: 5 }),
];
const nothing = { added: [], changed: [], removed: [], chosen: [], errors: [] };

it('a list that is not named stays as it is', () => {
  expect(decided(order, [], [])).toEqual(nothing);
  const first = sent('consignments.0', 'dyn_consignment', 1, ORDER, {});
  const second = sent('consignments.1', 'dyn_consignment', 4, ORDER, { notes: null });
  expect(decided(order, [consignments], [first, second])).toEqual(nothing);
});

it('of a list that is named, what is not in it is removed, with what belongs to it', () => {
  const kept = sent('consignments.0', 'dyn_consignment', 4, ORDER, { notes: 'Ring twice.' });
  expect(decided(order, [consignments], [kept])).toEqual({ ...nothing, changed: [4], removed: [1, 2, 3] });
  const goods = sent('consignments.0.goods.0', 'dyn_goods', 6, uuid(4), { quantity: 1 });
  expect(decided(order, [consignments, goodsOf(4)], [kept, goods])).toEqual({
    ...nothing,
    changed: [4],
    added: [6],
    chosen: [6],
    removed: [1, 5, 2, 3],
  });
});

it('a part stays in its table and with its parent, an id is given once, and a new one of version 7 is the service\u2019s', () => {
  const both = [
    sent('consignments.0', 'dyn_consignment', 1, ORDER, {}),
    sent('consignments.1', 'dyn_consignment', 4, ORDER, {}),
  ];
  const lists = [consignments, goodsOf(4)];
  const errorsOf = (...wrong: GivenPart[]) => decided(order, lists, [...both, ...wrong]).errors;
  expect(errorsOf(sent('g', 'dyn_goods', 2, uuid(4), {}))).toEqual(['g.id']);
  expect(errorsOf(sent('g', 'dyn_goods', 1, uuid(4), { quantity: 1 }))).toEqual(['g.id']);
  expect(errorsOf(sent('g', 'dyn_goods', 7, uuid(4), { quantity: 1 }, 7))).toEqual(['g.id']);
  expect(errorsOf(sent('g', 'dyn_goods', 7, uuid(4), { quantity: 1, consignment_id: uuid(1) }))).toEqual([
    'g.consignment_id',
  ]);
  expect(errorsOf(sent('g', 'dyn_goods', 7, uuid(4), {}), sent('h', 'dyn_goods', 7, uuid(4), { quantity: 1 }))).toEqual(
    ['g.quantity', 'h.id'],
  );
});

it('an order has no more parts than it may have, however they come', () => {
  const many = Array.from({ length: 2_499 }, (_, n) => known('dyn_consignment', 1_000 + n, ORDER));
  const added = (n: number) => sent(`goods.${n}`, 'dyn_goods', n, uuid(1_000), { quantity: 1 });
  const one = known('dyn_consignment', 1_000, ORDER);
  // What is removed makes room.
  const others = many.map(({ id }, n) =>
    sent(`consignments.${n}`, 'dyn_consignment', Number(id.slice(-12)), ORDER, {}),
  );
  expect(decided(many, [consignments], [...others.slice(2), added(1), added(2), added(3)]).errors).toEqual([]);
  expect(decided([one], [], [added(1)]).errors).toEqual([]);
  expect(decided(many, [], [added(1)]).errors).toEqual([]);
  expect(decided(many, [], [added(1), added(2)]).errors).toEqual(['goods']);
});

it('one that the service has made the id of is not chosen, and each of a deep order goes with the one that it stands in', () => {
  const made = { ...sent('g', 'dyn_goods', 6, uuid(4), { quantity: 1 }, 7), isChosen: false };
  const kept = [1, 4].map((n, at) => sent(`consignments.${at}`, 'dyn_consignment', n, ORDER, {}));
  expect(decided(order, [consignments, goodsOf(4)], [...kept, made])).toEqual({ ...nothing, added: [6], removed: [5] });
});

it('a part of one table does not take the id of one of another, and errors beyond the largest number are counted', () => {
  const charge = sent('allowance_charges.0', 'dyn_allowance_charge', 1, ORDER, { amount: 1 });
  expect(decided(order, [], [charge]).errors).toEqual(['allowance_charges.0.id']);
  const wrong = Array.from({ length: MAX_ERRORS + 50 }, (_, n) => sent(`g.${n}`, 'dyn_goods', 100 + n, uuid(4), {}));
  const errors = new FieldErrorList();
  toEnd(decideParts(types, new Map(), { lists: [], parts: wrong }, errors));
  expect(Object.keys(errors.toErrors())).toHaveLength(MAX_ERRORS);
  // Not all of them are looked at: the first that is not named ends it.
  expect(errors.unnamed).toBe(1);
});
