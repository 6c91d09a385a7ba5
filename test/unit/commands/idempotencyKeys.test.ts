/** A request with an Idempotency-Key is carried out once, at whichever append the process dies; what HTTP shows is in test/acceptance. */
import { openApplication } from '#app/commands/application.js';
import type { Commands } from '#app/commands/context.js';
import { createRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { cleanUpTable } from '#app/commands/referenceTables/cleanUps.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { orderStream, tableStream } from '#app/domain/streams.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const assetTypes = standardTables('dyn_stock_order');
const typeOf = (table: string): AssetType => assetTypes.get(table) as AssetType;
const [ORDERS, UNITS] = [typeOf('dyn_stock_order'), typeOf('dyn_unit_code')];
const { tenant } = caller;
const REFUSED = expect.objectContaining({ errors: { 'Idempotency-Key': [expect.any(String)] } });

/** Each request comes to a process of its own. */
function open() {
  const log = new LogInMemory();
  const unit = (code: string, value = code, _batch_id = 'b') => ({ code, value, _batch_id });
  const commands = (): ReturnType<typeof openApplication> =>
    openApplication({
      ...log.commands(),
      directory: { tenant: () => ({ name: tenant, orderModel: ORDERS.name, assetTypes, webhooks: new Map() }) },
    } as unknown as Commands);
  const onUnits = () => ({ commands: log.commands(), caller, assetType: UNITS });
  const onOrders = (id: string) => {
    return { commands: commands(), caller: { ...caller, actor: { kind: 'client', id } as const }, assetType: ORDERS };
  };
  return {
    log,
    unit,
    create: (notes = 'by post', id = 'c') => createRecord(onOrders(id), { notes }, 'k'),
    prepare: (items: readonly object[]) => upsertBatch(onUnits(), { items }),
    batch: (items: readonly object[]) => upsertBatch(onUnits(), { items }, { key: 'k' }),
    cleanUp: (key = 'k') => cleanUpTable(onUnits(), { batch_id: 'b' }, { key }),
    count: (stream: string, type: string) => log.stream(stream).filter((event) => event.type === type).length,
  };
}

describe.each([false, true])('a process that dies at its append (stored: %s), and the request sent again', (stored) => {
  test('a create makes one order, and its answer stays', async () => {
    const { log, create } = open();
    log.dieAtAppend(1, stored);
    await expect(create()).rejects.toThrow('died');
    const again = await create();
    expect(again).toMatchObject({ record: { notes: 'by post' } });
    expect(again.isRepeated ?? false).toBe(stored);
    expect((await create()).record).toEqual(again.record);
    expect(log.streams('order')).toHaveLength(1);
  });

  test('a batch is written once, and what came after it stays', async () => {
    const { log, unit, prepare, batch, count } = open();
    await prepare([unit('A', 'old', 'a'), unit('B', 'B', 'a')]);
    const items = [unit('A', 'new'), unit('B'), unit('C')];
    log.dieAtAppend(1, stored);
    await expect(batch(items)).rejects.toThrow('died');
    await prepare([{ code: 'A', value: 'by another' }]);
    const again = await batch(items);
    expect(again).toMatchObject({ counts: { created: 1, updated: 1, unchanged: 1 } });
    expect(again.isRepeated ?? false).toBe(stored);
    await prepare([{ code: 'A', value: 'by another again' }]);
    const { position: _, ...answer } = again;
    expect(await batch(items)).toMatchObject({ ...answer, isRepeated: true });
    expect(count(tableStream(tenant, UNITS.name), 'BatchUpserted')).toBe(4);
  });

  test('a clean-up deletes once, and counts what it deleted', async () => {
    const { log, unit, prepare, cleanUp, count } = open();
    await prepare([unit('A', 'A', 'a'), unit('B', 'B', 'a'), unit('C')]);
    log.dieAtAppend(1, stored);
    await expect(cleanUp()).rejects.toThrow('died');
    expect((await cleanUp()).deleted).toBe(2);
    await prepare([unit('D', 'D', 'c')]);
    expect((await cleanUp()).deleted).toBe(2);
    expect(count(tableStream(tenant, UNITS.name), 'TableCleanedUp')).toBe(1);
  });
});

test('what changes nothing is carried out once as well', async () => {
  const { unit, prepare, batch, cleanUp } = open();
  await prepare([unit('A')]);
  expect(await batch([unit('A')])).toMatchObject({ counts: { unchanged: 1 } });
  expect(await cleanUp('other')).toMatchObject({ deleted: 0, operationId: undefined });
  await prepare([unit('A', 'changed'), unit('B', 'B', 'c')]);
  expect(await batch([unit('A')])).toMatchObject({ counts: { updated: 0, unchanged: 1 }, isRepeated: true });
  expect(await cleanUp('other')).toMatchObject({ deleted: 0, operationId: undefined, isRepeated: true });
});

describe('two processes that carry it out at the same time', () => {
  test('make one order, and both have its answer', async () => {
    // An order's id is made of its key, so it is the same in each log.
    const { id } = await open().create();
    const { log, create } = open();
    let other: unknown;
    log.beforeAppend(orderStream(tenant, id), async () => {
      other = await create();
    });
    expect(await create()).toMatchObject({ id, isRepeated: true });
    expect(other).toMatchObject({ id, record: { id, notes: 'by post' } });
    expect(log.streams('order')).toHaveLength(1);
  });

  test('write a batch once', async () => {
    const { log, unit, batch, count } = open();
    log.beforeAppend(tableStream(tenant, UNITS.name), () => batch([unit('A')]));
    expect(await batch([unit('A')])).toMatchObject({ counts: { created: 1 }, isRepeated: true });
    expect(count(tableStream(tenant, UNITS.name), 'BatchUpserted')).toBe(1);
  });
});

test('another body, or another operation, is refused; a refused request leaves the key free', async () => {
  const { create, unit, batch, cleanUp } = open();
  await expect(batch([{ code: 'A', value: 7 }])).rejects.toThrow('value');
  await create();
  await expect(create('other')).rejects.toThrow(REFUSED);
  expect((await create('other', 'another client')).isRepeated).toBeUndefined();
  await batch([unit('A')]);
  await expect(batch([unit('B')])).rejects.toThrow(REFUSED);
  await expect(cleanUp('k')).rejects.toThrow(REFUSED);
});
