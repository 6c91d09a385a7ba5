/** The parts that the body of an order gives: how many there may be, and the ids that clients choose for them (§2.1). */
import { type Commands, ValidationError } from '#app/commands/context.js';
import { takePartIds, takeParts } from '#app/commands/orders/givenParts.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { transportModel } from '#app/domain/assetTypes/transportModel.js';
import { partIdStream } from '#app/domain/streams.js';
import type { StoredRecord, TableRef } from '#app/ports/readModels.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const types = new Map(transportModel.map((type) => [type.name, type]));
const typeOf = (table: string): AssetType => types.get(table) as AssetType;
const ORDER = typeOf('dyn_transport_order');
const uuid = (n: number): string => `0190a000-0000-4000-8000-${String(n).padStart(12, '0')}`;

/** As a body is taken apart; new ids are counted. */
function taken(body: { readonly [field: string]: unknown }) {
  let ids = 0;
  return takeParts({ newId: () => `new ${++ids}` }, types, ORDER, 'the order', body);
}
const invalid = (path: string) =>
  expect.objectContaining({ name: ValidationError.name, errors: { [path]: [expect.any(String)] } });

describe('taking the parts out of a body', () => {
  test('what is left are fields of the order, and of each part; each stands behind the one that it is in', () => {
    const goods = [{ quantity: 1 }, { quantity: 2, id: uuid(7).toUpperCase() }];
    const consignments = [
      { notes: 'one', goods },
      { notes: 'two', id: 'no uuid' },
    ];
    const { own, given } = taken({ notes: 'of all', consignments });
    expect(own).toEqual({ notes: 'of all' });
    expect(
      given.parts.map(({ path, id, isChosen, parentId, body }) => ({ path, id, isChosen, parentId, body })),
    ).toEqual([
      { path: 'consignments.0', id: 'new 1', isChosen: false, parentId: 'the order', body: { notes: 'one' } },
      { path: 'consignments.0.goods.0', id: 'new 2', isChosen: false, parentId: 'new 1', body: { quantity: 1 } },
      { path: 'consignments.0.goods.1', id: uuid(7), isChosen: true, parentId: 'new 1', body: goods[1] },
      { path: 'consignments.1', id: 'new 3', isChosen: false, parentId: 'the order', body: consignments[1] },
    ]);
    expect(given.lists).toEqual([
      { table: 'dyn_consignment', parentId: 'the order' },
      { table: 'dyn_goods', parentId: 'new 1' },
    ]);
  });
});

describe('ids that clients choose', () => {
  const { tenant, actor, correlationId, causationId } = metadata;
  const caller = { tenant, actor, correlationId, causationId };
  const goods = typeOf('dyn_goods');
  const chosen = (count: number, from = 0) =>
    Array.from({ length: count }, (_, index) => ({ path: `goods.${index}`, id: uuid(from + index), assetType: goods }));

  /** @param shown ids of goods that read models show, of an earlier release */
  function open(shown: readonly string[] = []) {
    const log = new LogInMemory();
    const find = async ({ table }: TableRef, _key: string, ids: readonly string[]) =>
      table === goods.name ? shown.filter((id) => ids.includes(id)).map((id) => ({ id }) as StoredRecord) : [];
    const commands = { ...log.commands(), readModels: { find } } as unknown as Commands;
    const take = (orderId: string, parts: Parameters<typeof takePartIds>[3]) =>
      takePartIds(commands, caller, orderId, parts);
    return { log, take };
  }

  test('each is taken once, for the order and its table', async () => {
    const { log, take } = open();
    for (let times = 0; times < 2; times += 1) await take('one', chosen(1));
    expect(log.stream(partIdStream(tenant, uuid(0))).map(({ data }) => data)).toEqual([
      { table: goods.name, orderId: 'one' },
    ]);
  });

  test('those of another order, or another table, are refused by their paths; there are as many as a request gives', async () => {
    const { take } = open();
    await take('one', chosen(250));
    await expect(take('two', chosen(250, 249))).rejects.toThrow(invalid('goods.0.id'));
    await expect(take('two', chosen(150, 100))).rejects.toMatchObject({
      errors: Object.fromEntries(chosen(100).map(({ path }) => [`${path}.id`, [expect.any(String)]])),
    });
    const consignment = [{ path: '', id: uuid(3), assetType: typeOf('dyn_consignment') }];
    await expect(take('one', consignment)).rejects.toThrow(invalid('id'));
  });

  test('one that a part of an earlier release has, which took none, is refused', async () => {
    const { log, take } = open([uuid(0)]);
    await expect(take('one', chosen(2))).rejects.toThrow(invalid('goods.0.id'));
    expect(log.stream(partIdStream(tenant, uuid(0)))).toEqual([]);
  });
});
