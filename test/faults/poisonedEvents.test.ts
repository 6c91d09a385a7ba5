/**
 * Events whose data no command would write, of every type that is read: each affects its own tenant only. All others are
 * served, and get each webhook once, in the running service and after each start.
 */
import { newId } from '#app/commands/clock.js';
import { readConfig } from '#app/config.js';
import { tenantStream } from '#app/domain/streams.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { openEventStore } from '#app/service/engines.js';
import { addWebhook, approve, quickDelivery, reaches, validatedOrder } from '../acceptance/export.js';
import { logEvent } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';

const id = newId();
const TYPES = {
  tenant: ['AssetFieldAdded', 'AssetTableAdded', 'RateLimitChanged', 'CleanUpGuardChanged', 'TenantDeleted'],
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
  webhooks: ['WebhookCreated', 'WebhookChanged', 'WebhookEnabled', 'WebhookDisabled', 'WebhookBackfillRequested'],
};
const RESTS: { readonly [category: string]: string } = { table: '.dyn_item', order: `.${id}`, delivery: `.${id}` };
/** Types of which a tenant's own webhook is told, so that the relay has to read them. */
const RELAYED = ['OrderCreated', 'OrderChanged', 'OrderStatusChanged', 'OrderApproved', 'BatchUpserted'];

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
  { id: 'none', webhookId: 'none', kind: 'none', orderId: 7, status: { from: 'a', to: 'b' } },
  { table: 'dyn_item', field: {}, assetType: {} },
  { table: 'dyn_item', field: { name: 'own', type: 'Nothing' }, assetType: { name: 'dyn_own' } },
  { table: 'dyn_item', field: { name: 'own', type: {} }, assetType: { name: 'dyn_own', fields: [{}] } },
  { table: 'dyn_order_line', id, status: { from: 'draft', to: 'saved' }, fields: { order_id: [] } },
];

/** Of `DATA`, by turns: all of it for each type takes minutes. */
const DATA_OF_TYPE = 3;
/** So many parked tenants take a busy machine longer than a write usually waits. */
const LONG_WAITS = { REQUEST_TIMEOUT_MS: '120000', WRITE_WAIT_MS: '60000' };

let receiver: Receiver;
let service: Service;

beforeAll(async () => {
  receiver = await Receiver.start();
  service = await startService({
    tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: { ...LONG_WAITS, ...quickDelivery(receiver) },
  });
  const events = [
    'order.created',
    'order.updated',
    'order.status_changed',
    'order.approved',
    'reference.batch_upserted',
  ];
  await addWebhook(service.tenant('acme'), receiver.url('/acme'), { events });
  await addWebhook(service.tenant('other'), receiver.url('/other'));
});
afterAll(async () => {
  await service.dispose();
  await receiver.stop();
});

/** Each in a tenant of its own, since a tenant is read no further behind what cannot be applied. */
async function poison(log: EventStore): Promise<void> {
  let tenants = 0;
  for (const [category, types] of Object.entries(TYPES)) {
    for (const type of types) {
      for (let n = 0; n < DATA_OF_TYPE; n++) {
        const data = DATA[tenants % DATA.length];
        const tenant = `t${tenants++}`;
        const created = { name: tenant, displayName: tenant, orderModel: 'dyn_stock_order' };
        await log.append(tenantStream(tenant), [logEvent(tenant, 'TenantCreated', created)], 'no-stream');
        await log.append(`${category}-${tenant}${RESTS[category] ?? ''}`, [logEvent(tenant, type, data)], 'any');
        if (!RELAYED.includes(type)) continue;
        const rest = category === 'table' ? '.dyn_item' : `.${newId()}`;
        await log.append(`${category}-acme${rest}`, [logEvent('acme', type, data)], 'any');
      }
    }
  }
}

it('all other tenants are served, and their webhooks go on, also after a start', async () => {
  const other = service.tenant('other');
  const log = await openEventStore(readConfig({ DATA_DIR: service.dataDir }));
  await poison(log);
  await log.close();
  for (const [round, how] of (['running', 'stop', 'kill'] as const).entries()) {
    if (how !== 'running') await service.restart(how);
    const made = await other.create('dyn_item', { external_id: how, name: 'Tea' });
    expect(await other.get('dyn_item', made.id)).toMatchObject({ external_id: how });
    const { order } = await validatedOrder(other);
    await approve(other, order.id);
    await reaches(other, order.id, 'submitted');
    await receiver.received('/other', round + 1);
    expect(receiver.calls('/other')).toHaveLength(round + 1);
  }
});
