import { failExport } from '#app/commands/orders/orderWriter.js';
import { toAppend } from '#app/commands/writeStream.js';
import { deliveryStream, orderStream } from '#app/domain/streams.js';
import type { DeliverySubject } from '#app/domain/webhook/events.js';
import { type EventStore, EventStoreUnavailableError } from '#app/ports/eventStore.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { type Receiver, startReceiver, status } from './receiver.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT, typesOf } from './service.js';

const NOTHING_WAITS = { ready: 0, delayed: 0, inFlight: 0, dead: 0 };
const caller = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, correlationId: 'c', causationId: 'c' } as const;

describe('deliveries after a crash (spec §6.4)', () => {
  let directory: string;
  let service: Service;
  let receivers: Receiver[];

  beforeEach(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory);
    receivers = [];
  });

  afterEach(async () => {
    await Promise.all(receivers.map((receiver) => receiver.close()));
    await service.close();
    await removeDataDirectory(directory);
  });

  async function receiver(...answers: Parameters<typeof startReceiver>): Promise<Receiver> {
    const started = await startReceiver(...answers);
    receivers.push(started);
    return started;
  }

  const orderEvents = (orderId: string) => service.commands.eventStore.readStream(orderStream(TENANT, orderId));

  /** An approved order and its delivery, as far as a crash let it come, with the message still in the queue. */
  async function crashedAfter(webhookId: string, ...types: string[]): Promise<{ orderId: string; deliveryId: string }> {
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const approval = (await orderEvents(orderId)).at(-1);
    const deliveryId = service.commands.newId();
    const subject = { webhookId, kind: 'order.approved', orderId, sourceEventId: approval?.id, sourceRevision: 1 };
    let attempt = 0;
    const events = types.map((type) => {
      if (type === 'DeliveryAttemptStarted') attempt += 1;
      return { type, data: { attempt, url: '', reason: 'HTTP 500', status: 500, durationMs: 1, responseBody: null } };
    });
    const toStore = toAppend(service.commands, caller, service.commands.now(), [
      { type: 'DeliveryRequested', data: subject },
      ...events,
    ]);
    await service.commands.eventStore.append(deliveryStream(TENANT, deliveryId), toStore, 'no-stream');
    await service.broker.publishWithCheckpoint(
      DELIVERY_QUEUE,
      [{ id: deliveryId, body: { tenant: TENANT, deliveryId } }],
      // The relay had passed the approval.
      { name: 'approval-relay', position: await service.commands.eventStore.head() },
    );
    return { orderId, deliveryId };
  }

  const attempts = (count: number): string[] =>
    Array.from({ length: count }, () => ['DeliveryAttemptStarted', 'DeliveryAttemptFailed']).flat();

  test('an attempt whose outcome is not known counts: the fifth is not repeated, the order fails', async () => {
    const erp = await receiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    const { orderId } = await crashedAfter(id, ...attempts(4), 'DeliveryAttemptStarted');
    service.start({ caPem: erp.caPem });
    await service.event('DeliveryFailed', orderId);
    expect(erp.calls).toEqual([]);
    expect((await orderEvents(orderId)).at(-1)?.data).toMatchObject({
      reasons: expect.arrayContaining(['Attempt 5: The service stopped before the outcome was known.']),
    });
  });

  test('between the last failure and the change of the order: the order fails, without a call', async () => {
    const erp = await receiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    const { orderId } = await crashedAfter(id, ...attempts(5));
    service.start({ caPem: erp.caPem });
    await service.event('DeliveryFailed', orderId);
    expect(erp.calls).toEqual([]);
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved', 'OrderExportFailed']);
  });

  test('between the change of the order and the end of the delivery: neither is repeated', async () => {
    const erp = await receiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    const { orderId, deliveryId } = await crashedAfter(id, ...attempts(5));
    const approvalEventId = (await orderEvents(orderId)).at(-1)?.id ?? '';
    const failure = { approvalEventId, reasons: ['HTTP 500'], webhookId: id, deliveryId };
    await failExport(service.commands, caller, orderId, failure);
    service.start({ caPem: erp.caPem });
    await service.event('DeliveryFailed', orderId);
    expect(erp.calls).toEqual([]);
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved', 'OrderExportFailed']);
  });

  test('between the request of a delivery and its message: the relay goes through the approval again', async () => {
    const erp = await receiver(status(200));
    await service.createWebhook(erp.url);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    service.start({ caPem: erp.caPem });
    const first = await service.event('DeliverySucceeded', orderId);
    await service.close();

    // Another broker, as after its loss: the relay starts at the beginning. Nothing is sent twice, and nothing to a
    // webhook that is younger than the approval.
    await removeDataDirectory(`${directory}/broker.db`);
    service = await openService(directory);
    const young = await receiver(status(200));
    await service.createWebhook(young.url, {}, { now: () => new Date(Date.now() + 3_600_000).toISOString() });
    service.start({ caPem: erp.caPem });
    const later = await service.createOrder();
    await service.approve(later);
    await service.event('DeliverySucceeded', later);
    await service.stop();
    expect(erp.calls).toHaveLength(2);
    expect(young.connections).toBe(0);
    expect(typesOf(await service.commands.eventStore.readStream(first.stream))).toHaveLength(3);
    expect(await service.broker.depth(DELIVERY_QUEUE)).toMatchObject(NOTHING_WAITS);
  });

  test('every process that gets the message obeys Retry-After, also when the queue was lost meanwhile', async () => {
    const calledAt: number[] = [];
    const erp = await receiver((response) => {
      calledAt.push(performance.now());
      response.writeHead(calledAt.length === 1 ? 429 : 200, { 'Retry-After': '2' }).end();
    });
    await service.createWebhook(erp.url);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    service.start({ caPem: erp.caPem });
    await service.event('DeliveryAttemptFailed', orderId);
    await service.close();
    await removeDataDirectory(`${directory}/broker.db`);
    service = await openService(directory);
    service.start({ caPem: erp.caPem });
    await service.event('DeliverySucceeded', orderId);
    const [first = 0, second = 0] = calledAt;
    expect(second - first).toBeGreaterThanOrEqual(1990);
  });

  test('an answer that comes while the log is away is recorded when it is back, and not asked for again', async () => {
    const erp = await receiver(status(200));
    await service.createWebhook(erp.url);
    const { eventStore } = service.commands;
    let refused = 0;
    const interrupted: EventStore = Object.assign(Object.create(eventStore), {
      readSlice: eventStore.readSlice.bind(eventStore),
      readStream: eventStore.readStream.bind(eventStore),
      subscribe: eventStore.subscribe.bind(eventStore),
      holds: eventStore.holds.bind(eventStore),
      append: async (...[stream, events, expected]: Parameters<EventStore['append']>) => {
        if (events[0]?.type === 'DeliverySucceeded' && refused++ < 2) throw new EventStoreUnavailableError('away');
        return eventStore.append(stream, events, expected);
      },
    });
    const deps = { commands: { ...service.commands, eventStore: interrupted } };
    service.start({ caPem: erp.caPem }, [0, 5], { deps });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliverySucceeded', orderId);
    expect(refused).toBe(3);
    expect(erp.calls).toHaveLength(1);
  });

  test('§6.4: a replay that fails for good leaves the order as it is', async () => {
    const erp = await receiver(status(500));
    const { id: webhookId } = await service.createWebhook(erp.url);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const [, approval] = await orderEvents(orderId);
    const subject: DeliverySubject = {
      webhookId,
      kind: 'order.approved',
      orderId,
      sourceEventId: approval?.id ?? '',
      sourceRevision: 1,
      purpose: 'resend',
      messageId: 'the-first',
    };
    const requested = [{ type: 'DeliveryRequested', data: subject }];
    const events = toAppend(service.commands, caller, service.commands.now(), requested);
    await service.commands.eventStore.append(deliveryStream(TENANT, service.commands.newId()), events, 'no-stream');
    // The relay had passed the approval.
    const position = approval?.position ?? 0;
    await service.broker.publishWithCheckpoint(DELIVERY_QUEUE, [], { name: 'approval-relay', position });
    service.start({ caPem: erp.caPem });
    await service.event('DeliveryFailed', orderId);
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved']);
    const replays = erp.calls.map(({ headers }) => [headers['webhook-id'], headers['webhook-replay']]);
    expect(replays).toEqual(Array(5).fill(['the-first', 'resend']));
  });

  test('of two processes one relays, so each delivery has one message; when it stops, the other one begins', async () => {
    const erp = await receiver(status(200));
    const other = await openService(directory);
    try {
      const processes = [service, other].map((each) => ({ each, published: jest.spyOn(each.broker, 'publish') }));
      const messages = () =>
        processes.map(({ published }) =>
          published.mock.calls.reduce((count, [queue, all]) => count + (queue === DELIVERY_QUEUE ? all.length : 0), 0),
        );
      for (const { each } of processes) each.start({ caPem: erp.caPem }, undefined, { attemptLimitMs: 60_000 });
      await service.createWebhook(erp.url);
      const approve = async (deliveries: number) => {
        for (let n = 0; n < 3; n++) await service.approve(await service.createOrder());
        await service.events('DeliverySucceeded', deliveries);
      };
      await approve(3);
      const first = messages();
      expect(first.toSorted()).toEqual([0, 3]);
      const leader = processes.find((_, index) => first[index] === 3);
      await leader?.each.stop();
      await approve(6);
      expect(messages()).toEqual([3, 3]);
      expect(erp.calls).toHaveLength(6);
    } finally {
      await other.close();
    }
  });

  test('a message that names no delivery is put aside', async () => {
    service.start({});
    await service.broker.publish(DELIVERY_QUEUE, [
      { id: 'unknown', body: { tenant: TENANT, deliveryId: service.commands.newId() } },
      { id: 'nonsense', body: 'nonsense' },
    ]);
    while ((await service.broker.depth(DELIVERY_QUEUE)).dead < 2) await new Promise((wait) => setTimeout(wait, 10));
    const letters = await service.broker.deadLetters(DELIVERY_QUEUE, 10);
    expect(letters.map(({ id }) => id).sort()).toEqual(['nonsense', 'unknown']);
  });
});
