/** What a decision about a table waits for. */
import { countCleanUp } from '#app/commands/referenceTables/synchronize.js';
import type { TablePorts } from '#app/commands/referenceTables/tableState.js';
import { TableWriter } from '#app/commands/referenceTables/tableWriter.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { tableStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';

const item = standardTables('dyn_stock_order').get('dyn_item');
if (item === undefined) throw new Error('There is no dyn_item.');

it('a clean-up waits for the last write to its table, however much else is in the log', async () => {
  const waitedFor: unknown[] = [];
  const commands = {
    eventStore: {
      lastAppend: async (stream: string) =>
        stream === tableStream('acme', 'dyn_item') ? { revision: 4, position: 10 } : { revision: 0, position: 99 },
      head: async () => 99,
    },
    readModels: {
      waitForEvent: async (...waited: readonly unknown[]) => {
        waitedFor.push(waited.slice(0, 2));
        return true;
      },
      countOutsideBatch: async () => ({ count: 0, inside: 3, revision: 4, lastEventAt: '' }),
    },
    now: () => metadata.occurredAt,
    newId: () => 'id',
  } as unknown as TablePorts;
  const { tenant, actor, correlationId, causationId } = metadata;
  const caller = { tenant, actor, correlationId, causationId };
  const count = () => countCleanUp(commands, { tenant, table: item.name }, 'b');
  expect(await new TableWriter(commands).alone(caller, item, count, () => [])).toMatchObject({
    position: 0,
    revision: 4,
    state: { deleted: 0, kept: 3 },
  });
  expect(waitedFor).toEqual([['records', 10]]);
});
