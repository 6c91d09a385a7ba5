/** What a batch names is read while its items are checked, and bad items are refused at once. */

import { openApplication } from '#app/commands/application.js';
import { type Commands, ValidationError } from '#app/commands/context.js';
import { checkItems, namedAsSent, requireNamed, upsertBatch } from '#app/commands/referenceTables/synchronize.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { MAX_BATCH_ITEMS, MAX_ERRORS } from '#app/domain/limits.js';
import type { EventToAppend } from '#app/ports/eventStore.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const item = standardTables('dyn_stock_order').get('dyn_item');
if (item === undefined) throw new Error('There is no dyn_item.');

const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const ID = '019AA4A5-3D51-7C3E-9D2F-6B1C0A8E4F10';

/** A table whose records are read when `read` is called. */
function openTable() {
  const asked: unknown[] = [];
  const appended: EventToAppend[] = [];
  let read = (): void => undefined;
  const reading = new Promise<void>((resolve) => {
    read = resolve;
  });
  const commands = openApplication({
    eventStore: {
      append: async (_stream: string, events: readonly EventToAppend[]) => {
        appended.push(...events);
        return { revision: appended.length - 1, position: appended.length };
      },
    },
    readModels: {
      snapshot: async (_table: unknown, wanted: unknown) => {
        asked.push(wanted);
        await reading;
        return { revision: -1, lastEventAt: '', records: [], formerIds: new Map() };
      },
    },
    now: () => metadata.occurredAt,
    newId: () => ID.toLowerCase(),
  } as unknown as Commands);
  return { commands, asked, appended, read: () => read() };
}

test('records are asked for by the keys and ids that were sent, and written once the items are checked', async () => {
  const { commands, asked, appended, read } = openTable();
  const items = [{ id: ID, external_id: 'A', name: 'Tea' }];
  const writing = upsertBatch(commands, caller, item, { items });
  await new Promise((resolve) => setImmediate(resolve));
  expect(asked).toEqual([{ keys: ['A'], ids: [ID.toLowerCase()] }]);
  read();
  expect(await writing).toMatchObject({ counts: { created: 1, updated: 0, unchanged: 0 } });
  expect(appended).toHaveLength(1);
});

test('bad items are refused while what they name is still being read, and then nothing is written', async () => {
  const { commands, appended, read } = openTable();
  const items = [
    { external_id: 'A', name: 'Tea' },
    { external_id: 'B', name: 7 },
  ];
  await expect(upsertBatch(commands, caller, item, { items })).rejects.toMatchObject({
    errors: { 'items.1.name': expect.any(Array) },
  });
  read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(appended).toEqual([]);
});

test('what is no item, key or id names nothing', () => {
  const items = [null, 'A', [], {}, { external_id: ['A'], id: {} }, { external_id: 7 }, { external_id: 'A', id: ID }];
  expect(namedAsSent(item, items)).toEqual({ keys: ['A'], ids: [ID.toLowerCase()] });
});

test('an item that a check made another one of is not written', () => {
  const checked = (external_id: string) => [{ fields: { external_id } }] as unknown as readonly RecordInput[];
  expect(() => requireNamed(item, checked('A'), { keys: ['A'], ids: [] })).not.toThrow();
  expect(() => requireNamed(item, checked('a'), { keys: ['A'], ids: [] })).toThrow('names another record');
});

test('each item that is no object is named, and not more than anybody reads', async () => {
  const good = { external_id: 'A', name: 'Tea' };
  const refused = async (items: readonly unknown[]) => {
    const error = await checkItems(item, items).catch((reason: unknown) => reason);
    if (!(error instanceof ValidationError)) throw new Error('not refused');
    return error;
  };
  const { errors } = await refused([null, good, [], 'A', 7, undefined]);
  expect(Object.keys(errors)).toEqual(['items.0', 'items.2', 'items.3', 'items.4', 'items.5']);
  const all = await refused(Array.from({ length: MAX_BATCH_ITEMS }, () => null));
  expect(Object.keys(all.errors)).toHaveLength(MAX_ERRORS);
  expect(all.message).toContain('(At least 1 more errors are not listed here.)');
});
