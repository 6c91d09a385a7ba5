import { toAppend } from '#app/commands/writeStream.js';
import { deliveryStream, orderStream } from '#app/domain/streams.js';
import type { DeliverySubject, WebhookEventKind } from '#app/domain/webhook/events.js';
import { DELIVERY_QUEUE, deliveryMessage } from '#app/webhooks/queue.js';
import { type Answer, type Receiver, startReceiver, status } from './receiver.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT, typesOf } from './service.js';

const KINDS = ['order.created', 'order.updated', 'order.status_changed', 'order.approved'] as const;
const NOTHING_WAITS = { ready: 0, delayed: 0, inFlight: 0, dead: 0 };

describe('deliveries about one order', () => {
  let directory: string;
  let service: Service;
  let erp: Receiver;

  beforeEach(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory);
  });

  afterEach(async () => {
    await erp.close();
    await service.close();
    await removeDataDirectory(directory);
  });

  /** Created, updated and approved before anything is sent. */
  async function order(): Promise<string> {
    const orderId = await service.createOrder();
    await service.update(orderId, 'PO-1', 'PO-2');
    await service.approve(orderId);
    return orderId;
  }

  async function open(answer: Answer): Promise<void> {
    erp = await startReceiver(answer);
    await service.createWebhook(erp.url, {}, { events: KINDS });
  }

  const kinds = (): (string | undefined)[] => erp.calls.map(({ headers }) => headers['webhook-event']?.toString());
  const sequence = (): number[] => erp.calls.map(({ headers }) => Number(headers['webhook-sequence']));

  test('arrive in order although the first fails twice', async () => {
    await open((response) => response.writeHead(erp.calls.length <= 2 ? 500 : 200).end());
    const orderId = await order();
    service.start({ caPem: erp.caPem });
    await service.event('DeliverySucceeded', orderId, 4);
    expect(kinds()).toEqual([
      'order.created',
      'order.created',
      'order.created',
      'order.updated',
      'order.status_changed',
      'order.approved',
    ]);
    expect(sequence()).toEqual([0, 0, 0, 1, 2, 2]);
    await service.stop();
    expect(await service.broker.depth(DELIVERY_QUEUE)).toMatchObject(NOTHING_WAITS);
  });

  test('§6.4: the next goes on when the one before has failed for good, which fails no order', async () => {
    await open((response, { headers }) =>
      response.writeHead(headers['webhook-event'] === 'order.updated' ? 500 : 200).end(),
    );
    const orderId = await order();
    service.start({ caPem: erp.caPem });
    await service.event('DeliverySucceeded', orderId, 3);
    const updated: WebhookEventKind = 'order.updated';
    expect(kinds()).toEqual(['order.created', ...Array(5).fill(updated), 'order.status_changed', 'order.approved']);
    const stored = await service.commands.eventStore.readStream(orderStream(TENANT, orderId));
    expect(typesOf(stored)).toEqual(['OrderCreated', 'OrderChanged', 'OrderApproved']);
  });

  test('of many orders at once are in order for each, also with little room in hand', async () => {
    const told = new Set<unknown>();
    await open((response, { headers }) => {
      // The first attempt of every third delivery fails.
      const fails = !told.has(headers['webhook-id']) && told.size % 3 === 0;
      told.add(headers['webhook-id']);
      setTimeout(() => response.writeHead(fails ? 503 : 200).end(), erp.calls.length % 7);
    });
    const orders = await Promise.all(Array.from({ length: 15 }, order));
    service.start({ caPem: erp.caPem }, [0, 10], { concurrency: 4 });
    await service.events('DeliverySucceeded', KINDS.length * orders.length);
    expect(erp.calls.length).toBeGreaterThan(KINDS.length * orders.length);
    for (const orderId of orders) {
      const ofOrder = erp.calls.filter(({ body }) => JSON.parse(body.toString()).validated_order.id === orderId);
      const kindsOfOrder = ofOrder.map(({ headers }) => headers['webhook-event']);
      // Each kind as often as it took attempts, and none before the previous one is over.
      expect(kindsOfOrder.filter((kind, i) => kind !== kindsOfOrder[i - 1])).toEqual(KINDS);
    }
  });

  test('waits for no delivery that was never requested', async () => {
    erp = await startReceiver(status(200));
    const { id: webhookId } = await service.createWebhook(erp.url);
    const orderId = await service.createOrder();
    const [source] = await service.commands.eventStore.readStream(orderStream(TENANT, orderId));
    const told = { sourceEventId: source?.id ?? '', sourceRevision: 0, after: service.commands.newId() };
    const subject: DeliverySubject = { webhookId, kind: 'order.created', orderId, ...told };
    const deliveryId = service.commands.newId();
    const actor = { kind: 'system', id: 'test' } as const;
    const caller = { tenant: TENANT, actor, correlationId: 'c', causationId: 'c' };
    const requested = [{ type: 'DeliveryRequested', data: subject }];
    const events = toAppend(service.commands, caller, service.commands.now(), requested);
    await service.commands.eventStore.append(deliveryStream(TENANT, deliveryId), events, 'no-stream');
    await service.broker.publish(DELIVERY_QUEUE, [deliveryMessage({ tenant: TENANT, deliveryId, webhookId, orderId })]);
    service.start({ caPem: erp.caPem });
    await service.event('DeliverySucceeded', orderId);
    expect(kinds()).toEqual(['order.created']);
  });
});
