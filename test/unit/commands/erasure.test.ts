/** An erasure may die before or after any of its appends: repeated as a whole, it erases all that was written before it. */

import { eraseRecord } from '#app/cli/erasures.js';
import type { Commands } from '#app/commands/context.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { upsertBatch } from '#app/commands/referenceTables/batches.js';
import { type ErasureRecorded, Erasures } from '#app/domain/erasure.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { ERASURES_STREAM, tableStream, tenantStream } from '#app/domain/streams.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { tenant } = caller;

const assetTypes = standardTables('dyn_stock_order');
const units = assetTypes.get('dyn_unit_code');
if (units === undefined) throw new Error('There is no dyn_unit_code.');
const UNITS = units;
const SECRET = 'Eva Smit';

/** The change of the record, the note of who asked and why, and the erasure. */
const APPENDS = 3;
const deaths = Array.from({ length: APPENDS }, (_, n) => [false, true].map((stored) => ({ at: n + 1, stored }))).flat();

test.each(deaths)('dies at append $at (stored: $stored), and is done by a repetition', async ({ at, stored }) => {
  const log = new LogInMemory();
  const commands = { ...log.commands(), directory: { waitFor: async () => undefined } } as unknown as Commands;
  await createTenant(commands, caller, { orderModel: 'dyn_stock_order' });
  await upsertBatch({ commands: log.commands(), caller, assetType: UNITS }, { items: [{ code: 'A', value: SECRET }] });
  const [record] = (await log.commands().queries.records.snapshot({ tenant, table: UNITS.name }, { keys: [], ids: [] }))
    .records;
  const name = { table: UNITS.name, id: record?.id ?? '', reason: 'Request 4711' };
  const erase = () => eraseRecord(commands, caller, { assetTypes }, name);
  log.dieAtAppend(at, stored);
  await expect(erase()).rejects.toThrow('died');
  await erase();

  const erasures = new Erasures();
  for (const event of log.stream(ERASURES_STREAM))
    erasures.add(event as RecordedEvent & ErasureRecorded, event.position);
  const shown = log.stream(tableStream(tenant, UNITS.name)).map((event) => erasures.redact(event));
  expect(JSON.stringify(log.stream(tableStream(tenant, UNITS.name)))).toContain(SECRET);
  expect(JSON.stringify(shown)).not.toContain(SECRET);
  // Who asked, and why, is never missing.
  expect(log.stream(tenantStream(tenant)).some(({ type }) => type === 'DataErased')).toBe(true);
});
