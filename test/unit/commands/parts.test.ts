/** Changes of a part of an order: its order is found by the body or by the read models, and the order's stream decides. */
import type { Application } from '#app/commands/application.js';
import { NotFoundError } from '#app/commands/context.js';
import { createRecord, removePart, updateRecord } from '#app/commands/records.js';
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { orderStream } from '#app/domain/streams.js';
import type { TableRef } from '#app/ports/readModels.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const assetTypes = standardTables('dyn_stock_order');
const typeOf = (table: string): AssetType => assetTypes.get(table) as AssetType;
const [ORDERS, LINES] = [typeOf('dyn_stock_order'), typeOf('dyn_order_line')];
const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const NOT_FOUND = { name: NotFoundError.name };

/** Two orders, a line of the first, and read models that show the line for ever. */
async function open() {
  const log = new LogInMemory();
  const shown = new Map<string, string>();
  const asked: string[] = [];
  const get = async ({ table }: TableRef, id: string) => {
    asked.push(table);
    return shown.get(id);
  };
  const commands = {
    ...log.commands(),
    directory: { tenant: () => ({ name: tenant, orderModel: ORDERS.name, assetTypes, webhooks: new Map() }) },
    readModels: { get, find: async () => [] },
  } as unknown as Application;
  const order = await createRecord(commands, caller, ORDERS, {});
  const other = await createRecord(commands, caller, ORDERS, {});
  // Its id has letters.
  const id = 'abcdef00-0000-4000-8000-000000000001';
  const line = await createRecord(commands, caller, LINES, { id, order_id: order.id, quantity: 1 });
  shown.set(line.id, JSON.stringify(line.record));
  asked.length = 0;
  return {
    asked,
    commands,
    ids: { order: order.id, other: other.id, line: line.id },
    update: (body: object) => updateRecord(commands, caller, LINES, line.id, body),
    remove: () => removePart(commands, caller, LINES, line.id),
    create: (body: object) => createRecord(commands, caller, LINES, body),
    events: () => log.stream(orderStream(tenant, order.id)).map(({ type }) => type),
  };
}

test('one whose body names its order is changed without a question to the read models', async () => {
  const { ids, update, asked, events } = await open();
  expect(await update({ order_id: ids.order, quantity: 2 })).toMatchObject({ id: ids.line, record: { quantity: 2 } });
  expect(asked).toEqual([]);
  expect(await update({ quantity: 3 })).toMatchObject({ record: { quantity: 3 } });
  expect(asked).toEqual(['dyn_order_line']);
  expect(events()).toEqual(['OrderCreated', 'OrderPartAdded', 'OrderPartChanged', 'OrderPartChanged']);
});

test('one that is gone is neither changed nor removed, though read models still show it', async () => {
  const { ids, update, remove, events } = await open();
  await remove();
  const before = events();
  for (const body of [{ quantity: 2 }, { order_id: ids.order, quantity: 2 }]) {
    await expect(update(body)).rejects.toMatchObject(NOT_FOUND);
  }
  await expect(remove()).rejects.toMatchObject(NOT_FOUND);
  expect(events()).toEqual(before);
});
