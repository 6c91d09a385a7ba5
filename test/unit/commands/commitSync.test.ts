/** A sync session is committed once, wherever the process dies, and only while it is the open one (decision 0012). */
import { ConflictError } from '#app/commands/context.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { commitSync, startSync } from '#app/commands/referenceTables/cleanUps.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { tableStream } from '#app/domain/streams.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const units = standardTables('dyn_stock_order').get('dyn_unit_code');
if (units === undefined) throw new Error('There is no dyn_unit_code.');
const UNITS = units;
const { tenant } = caller;

const unit = (code: string, batchId: string) => ({ code, value: code, _batch_id: batchId });

/** A table with A and B of another batch, and C of an open session. */
async function open() {
  const log = new LogInMemory();
  const target = () => ({ commands: log.commands(), caller, assetType: UNITS });
  const batch = (...items: object[]) => upsertBatch(target(), { items });
  await batch(unit('A', 'monday'), unit('B', 'monday'));
  const { id } = await startSync(target());
  await batch(unit('C', id));
  const codes = async () => {
    const known = await log.commands().queries.records.snapshot({ tenant, table: UNITS.name }, { keys: [], ids: [] });
    return known.records.map(({ fields }) => fields.code);
  };
  return {
    log,
    id,
    batch,
    codes,
    commit: (records = 1) => commitSync(target(), id, { records }),
    events: (stream: string, type: string) => log.stream(stream).filter((event) => event.type === type).length,
  };
}

test.each([
  { stored: false, deleted: 3 },
  { stored: true, deleted: 2 },
])('dying at its append (stored: $stored): what is created after the deletion stays', async (death) => {
  const { log, batch, codes, commit, events } = await open();
  log.dieAtAppend(1, death.stored);
  await commit().catch(() => undefined);
  await batch(unit('D', 'by another'));
  const { deleted, operationId } = await commit();
  expect(deleted).toBe(death.deleted);
  expect(await codes()).toEqual(death.deleted === 2 ? ['C', 'D'] : ['C']);
  await batch(unit('E', 'by another'));
  expect(await commit()).toMatchObject({ deleted, operationId });
  expect(await codes()).toContain('E');
  expect(events(tableStream(tenant, UNITS.name), 'TableCleanedUp')).toBe(1);
});

test('a batch that is written while its session is committed is counted, or refused', async () => {
  const { log, id, batch, codes, commit } = await open();
  log.beforeAppend(tableStream(tenant, UNITS.name), () => batch(unit('D', id)));
  await expect(commit()).rejects.toThrow('2 records have');
  expect(await codes()).toEqual(['A', 'B', 'C', 'D']);
  log.beforeAppend(tableStream(tenant, UNITS.name), () => commit(2));
  await expect(batch(unit('E', id))).rejects.toThrow(ConflictError);
  expect(await codes()).toEqual(['C', 'D']);
});
