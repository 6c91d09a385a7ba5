/** Events of one tenant's webhooks, deliveries and orders that say nothing sensible: all other tenants' webhooks go on. */
import { newId } from '#app/commands/clock.js';
import { readConfig } from '#app/config.js';
import { parseStream } from '#app/domain/streams.js';
import { openEventStore } from '#app/service/engines.js';
import { addWebhook, approve, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { logEvent } from '../acceptance/logEvent.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';

const TYPES = {
  order: ['OrderCreated', 'OrderChanged', 'OrderPartAdded', 'OrderStatusChanged', 'OrderApproved', 'OrderRejected'],
  delivery: [
    'DeliveryRequested',
    'DeliveryAttemptStarted',
    'DeliveryAttemptFailed',
    'DeliverySucceeded',
    'DeliveryFailed',
  ],
  webhooks: ['WebhookCreated', 'WebhookChanged', 'WebhookEnabled', 'WebhookDisabled', 'WebhookBackfillRequested'],
  table: ['BatchUpserted', 'TableCleanedUp'],
};
const DATA: readonly unknown[] = [
  null,
  {},
  'text',
  { id: 'none', webhookId: 'none', kind: 'none', orderId: 7, status: { from: 'a', to: 'b' } },
];

let receiver: Receiver;
let service: Service;

beforeAll(async () => {
  receiver = await Receiver.start();
  const events = [
    'order.created',
    'order.updated',
    'order.status_changed',
    'order.approved',
    'reference.batch_upserted',
  ];
  service = await startService({
    tenants: { acme: 'dyn_stock_order', beside: 'dyn_stock_order', other: 'dyn_stock_order' },
    env: quickDelivery(receiver),
  });
  await addWebhook(service.tenant('acme'), receiver.url('/acme'), { events });
  await addWebhook(service.tenant('other'), receiver.url('/other'));
});
afterAll(async () => {
  await service.dispose();
  await receiver.stop();
});

it('webhooks of other tenants go on, also after a start', async () => {
  const log = await openEventStore(readConfig({ DATA_DIR: service.dataDir }));
  for (const [category, types] of Object.entries(TYPES)) {
    // This parks the directory of one tenant; the other one still gets its deliveries.
    for (const tenant of category === 'webhooks' ? ['beside'] : ['acme', 'beside']) {
      for (const type of types) {
        for (const data of DATA) {
          const rest = category === 'table' ? '.dyn_item' : category === 'webhooks' ? '' : `.${newId()}`;
          const stream = `${category}-${tenant}${rest}`;
          await log.append(stream, [logEvent(parseStream(stream).tenant, type, data)], 'any');
        }
      }
    }
  }
  await log.close();
  let exported = 0;
  for (const how of ['running', 'stop', 'kill'] as const) {
    if (how !== 'running') await service.restart(how);
    const other = service.tenant('other');
    const { order } = await validatedOrder(other);
    await approve(other, order.id);
    exported += 1;
    await receiver.received('/other', exported);
  }
});
