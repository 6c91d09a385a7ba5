/**
 * Events whose data no command would write, of every type that projections read: each affects its own tenant only.
 */
import { newId } from '#app/commands/clock.js';
import { createRecord } from '#app/commands/records.js';
import { projections } from '#app/projector/projections.js';
import { logEvent } from '../acceptance/logEvent.js';
import { type FreshReadModels, onEachReadModels } from '../engines/onEachReadModels.js';
import { scaled } from '../engines/timeScale.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { type Inside, openInside, openTenant } from './harness.js';

/** For machines that have much to do. */
const WAIT_MS = scaled(90_000);
const id = newId();
const TYPES = {
  tenant: [
    'TenantCreated',
    'AssetFieldAdded',
    'AssetTableAdded',
    'RateLimitChanged',
    'CleanUpGuardChanged',
    'TenantDeleted',
  ],
  table: ['RecordCreated', 'RecordChanged', 'BatchUpserted', 'TableCleanedUp'],
  order: [
    'OrderCreated',
    'OrderChanged',
    'OrderPartAdded',
    'OrderPartChanged',
    'OrderStatusChanged',
    'OrderApproved',
    'OrderRejected',
    'OrderExportFailed',
    'OrderExportDelivered',
  ],
  delivery: [
    'DeliveryRequested',
    'DeliveryAttemptStarted',
    'DeliveryAttemptFailed',
    'DeliverySucceeded',
    'DeliveryFailed',
  ],
};
const RESTS: { readonly [category: string]: string } = { table: '.dyn_item', order: `.${id}`, delivery: `.${id}` };

const DATA: readonly unknown[] = [
  null,
  {},
  [],
  'text',
  { id, set: null, fields: null, changes: null, status: null },
  { id, table: 'dyn_item', fields: { external_id: { deep: [1] }, name: 7 }, set: { name: {} } },
  { id: { not: 'an id' }, fields: 7, items: [{}], created: [null], changed: [{}], unchanged: 5 },
  { id: 'no id', fields: {}, set: {}, created: [{ id: 7 }], changed: [{ id: 7 }], seen: '' },
  { batchId: { $ne: 1 }, created: [], changed: [], seen: 'AAAA' },
  { name: 'other', displayName: 'Other', orderModel: 'dyn_stock_order' },
  { table: 'dyn_item', field: {}, assetType: {} },
  { table: 'dyn_item', field: { name: 'own', type: 'Nothing' }, assetType: { name: 'dyn_own' } },
  { table: 'dyn_item', field: { name: 'own', type: {} }, assetType: { name: 'dyn_own', fields: [{}] } },
  { table: 'dyn_order_line', id, status: { from: 'draft', to: 'saved' }, fields: { order_id: [] } },
];

function describePoison(newEngine: FreshReadModels): void {
  let inside: Inside;
  let tenants = 0;

  beforeEach(async () => {
    inside = await openInside(undefined, { env: newEngine() });
    await openTenant(inside, 'other');
  });
  afterEach(() => inside.close());

  test.each(Object.entries(TYPES).flatMap(([category, types]) => types.map((type) => [category, type] as const)))(
    'in a %s stream: %s',
    async (category, type) => {
      for (const data of DATA) {
        tenants += 1;
        const tenant = `t${tenants}`;
        await openTenant(inside, tenant);
        const stream = `${category}-${tenant}${RESTS[category] ?? ''}`;
        await inside.eventStore.append(stream, [logEvent(tenant, type, data)], 'any');
      }
      const fields = { external_id: `x${tenants}`, name: 'Tea' };
      const item = inside.assetType('other', 'dyn_item');
      const made = await createRecord(inside.commands, inside.caller('other'), item, fields);
      for (const { name } of projections)
        expect(await inside.readModels.waitFor(name, made.position, WAIT_MS)).toBe(true);
      expect(await inside.readModels.get({ tenant: 'other', table: 'dyn_item' }, made.id)).toBeDefined();
    },
  );
}

/** What MongoDB cannot store, SQLite can; its own refusals are tested by the contract of read models. */
const onMongoDb = isRepetition ? test : test.skip;
onEachReadModels((newEngine) => {
  onMongoDb(
    'a record that grows too large for the engine parks its tenant, and is named; other tenants go on',
    async () => {
      const inside = await openInside(undefined, { env: newEngine() });
      for (const tenant of ['acme', 'other']) await openTenant(inside, tenant);
      const appended = (type: string, data: object) =>
        inside.eventStore.append('table-acme.dyn_party', [logEvent('acme', type, data)], 'any');
      const party = inside.assetType('acme', 'dyn_party');
      const texts = party.fields.filter(({ type }) => type === 'String' || type === 'LongText');
      await appended('RecordCreated', { id, fields: { external_id: 'x', name: 'Tea' } });
      const text = 'y'.repeat(990_000);
      for (const { name } of texts) await appended('RecordChanged', { id, set: { [name]: text } });
      const made = await createRecord(inside.commands, inside.caller('other'), party, {
        external_id: 'x',
        name: 'Tea',
      });
      expect(await inside.readModels.waitFor('records', made.position, WAIT_MS)).toBe(true);
      expect(await inside.readModels.get({ tenant: 'other', table: 'dyn_party' }, made.id)).toBeDefined();
      const error = expect.stringContaining(`Read model acme/dyn_party cannot store the record ${id}.`);
      const parked = { tenant: 'acme', projection: 'records', eventType: 'RecordChanged', error };
      expect(await inside.readModels.parked()).toMatchObject([parked]);
      await inside.close();
    },
  );
});

onEachReadModels(describePoison);
