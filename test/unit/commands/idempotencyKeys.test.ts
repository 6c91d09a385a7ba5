/** A request with an Idempotency-Key is carried out once, at whichever append the process dies; what HTTP shows is in test/acceptance. */
import { openApplication } from '#app/commands/application.js';
import type { Commands } from '#app/commands/context.js';
import { approveOrderOnce } from '#app/commands/orders/lifecycle.js';
import { createRecord } from '#app/commands/records.js';
import { upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import { cleanUpTableOnce, upsertBatchOnce } from '#app/commands/referenceTables/synchronizeOnce.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { User } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { MAX_EVENTS_LOOKED_THROUGH } from '#app/domain/limits.js';
import { orderStream, tableStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const assetTypes = standardTables('dyn_stock_order');
const typeOf = (table: string): AssetType => assetTypes.get(table) as AssetType;
const [ORDERS, UNITS] = [typeOf('dyn_stock_order'), typeOf('dyn_unit_code')];
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const REFUSED = expect.objectContaining({ errors: { 'Idempotency-Key': [expect.any(String)] } });
const USER = { id: 7, firstName: 'Vera', lastName: 'Bos', locale: 'nl', email: 'vera@example.com' } as unknown as User;

/** The key is taken, the work is done, its answer is noted. */
const DEATHS = [1, 2, 3].flatMap((at) => [false, true].map((stored) => ({ at, stored })));
const wasDone = ({ at, stored }: (typeof DEATHS)[number]): boolean => at > 2 || (at === 2 && stored);

/** Each request comes to a process of its own. */
function open() {
  const log = new LogInMemory();
  const unit = (code: string, value = code, _batch_id = 'b') => ({ code, value, _batch_id });
  const commands = (): ReturnType<typeof openApplication> =>
    openApplication({
      ...log.commands(),
      directory: { tenant: () => ({ name: tenant, orderModel: ORDERS.name, assetTypes, webhooks: new Map() }) },
    } as unknown as Commands);
  const withoutRecords = () =>
    ({ ...commands(), queries: { records: { find: async () => [] } } }) as unknown as Commands;
  return {
    log,
    unit,
    create: (notes = 'by post', id = 'c') =>
      createRecord(commands(), { ...caller, actor: { kind: 'client', id } }, ORDERS, { notes }, 'k'),
    prepare: (items: readonly object[]) => upsertBatch(log.commands(), caller, UNITS, { items }),
    batch: (items: readonly object[]) => upsertBatchOnce(log.commands(), caller, UNITS, { items }, 'k'),
    cleanUp: (key = 'k') => cleanUpTableOnce(log.commands(), caller, UNITS, { batch_id: 'b' }, key, {}),
    newOrder: () => createRecord(openApplication(withoutRecords()), caller, ORDERS, { processing_status: 'validated' }),
    approve: (id: string, reason = 'No customer yet.') =>
      approveOrderOnce(openApplication(withoutRecords()), caller, id, USER, reason, { key: 'k', body: { reason } }),
    count: (stream: string, type: string) => log.stream(stream).filter((event) => event.type === type).length,
  };
}

describe.each(DEATHS)('a process that dies at append $at (stored: $stored), and the request sent again', (death) => {
  test('a create makes one order, and its answer stays', async () => {
    const { log, create } = open();
    log.dieAtAppend(death.at, death.stored);
    const died = await create().catch(() => undefined);
    const again = await create();
    expect(again).toMatchObject({ id: died?.id ?? again.id, record: { notes: 'by post' } });
    expect(again.isReplayed ?? false).toBe(wasDone(death));
    expect((await create()).record).toEqual(again.record);
    expect(log.streams('order')).toHaveLength(1);
  });

  test('a batch is written once, and what came after it stays', async () => {
    const { log, unit, prepare, batch, count } = open();
    await prepare([unit('A', 'old', 'a'), unit('B', 'B', 'a')]);
    const items = [unit('A', 'new'), unit('B'), unit('C')];
    log.dieAtAppend(death.at, death.stored);
    await batch(items).catch(() => undefined);
    await prepare([{ code: 'A', value: 'by another' }]);
    const again = await batch(items);
    expect(again).toMatchObject({ counts: { created: 1, updated: 1, unchanged: 1 } });
    expect(again.isReplayed ?? false).toBe(wasDone(death));
    await prepare([{ code: 'A', value: 'by another again' }]);
    const { position: _, ...answer } = again;
    expect(await batch(items)).toMatchObject({ ...answer, isReplayed: true });
    expect(count(tableStream(tenant, UNITS.name), 'BatchUpserted')).toBe(4);
  });

  test('a clean-up deletes once, and counts what it deleted', async () => {
    const { log, unit, prepare, cleanUp, count } = open();
    await prepare([unit('A', 'A', 'a'), unit('B', 'B', 'a'), unit('C')]);
    log.dieAtAppend(death.at, death.stored);
    await cleanUp().catch(() => undefined);
    expect((await cleanUp()).deleted).toBe(2);
    await prepare([unit('D', 'D', 'c')]);
    expect((await cleanUp()).deleted).toBe(2);
    expect(count(tableStream(tenant, UNITS.name), 'TableCleanedUp')).toBe(1);
  });
});

test('two processes that carry it out at the same time make one order, and both have its answer', async () => {
  // Ids are counted, so the order has the same one in each log.
  const { id } = await open().create();
  const { log, create } = open();
  let other: unknown;
  log.beforeAppend(orderStream(tenant, id), async () => {
    other = await create();
  });
  const { record } = await create();
  expect(other).toMatchObject({ id, record });
  expect(log.streams('order')).toHaveLength(1);
});

test('another body, or another operation, is refused, also where the first was never answered', async () => {
  const { log, create, unit, batch, cleanUp } = open();
  log.dieAtAppend(2, false);
  await expect(create()).rejects.toThrow('died');
  await expect(create('other')).rejects.toThrow(REFUSED);
  await create();
  await batch([unit('A')]);
  await expect(cleanUp('k')).rejects.toThrow(REFUSED);
});

test('where too much was written since to tell whether it was done, it is refused', async () => {
  const { log, unit, prepare, batch } = open();
  await prepare([unit('A')]);
  log.dieAtAppend(2, false);
  await batch([unit('B')]).catch(() => undefined);
  log.fill(tableStream(tenant, UNITS.name), MAX_EVENTS_LOOKED_THROUGH);
  await expect(batch([unit('B')])).rejects.toThrow('use a new Idempotency-Key');
});
