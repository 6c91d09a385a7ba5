import { createHmac } from 'node:crypto';
import { pino } from 'pino';
import { removeWebhook } from '#app/commands/webhooks/settings.js';
import { toAppend } from '#app/commands/writeStream.js';
import { orderStream } from '#app/domain/streams.js';
import type { RecordedEvent } from '#app/ports/eventStore.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { hang, type Receiver, startReceiver, status } from './receiver.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT, typesOf } from './service.js';

const NOTHING_WAITS = { ready: 0, delayed: 0, inFlight: 0, dead: 0 };
const caller = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, correlationId: 'c', causationId: 'c' } as const;

describe('from approval to delivery (spec §6)', () => {
  let directory: string;
  let service: Service;
  let receivers: Receiver[];

  beforeEach(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory);
    receivers = [];
  });

  afterEach(async () => {
    // First, so that hanging calls end.
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
  const deliveryEvents = async (last: RecordedEvent) => service.commands.eventStore.readStream(last.stream);

  test('§6.1, §6.3: the approved order arrives once, signed, with its custom data', async () => {
    const erp = await receiver(status(202, {}, 'thanks'));
    const { secret } = await service.createWebhook(erp.url, { warehouse: 'północ' });
    service.start({ caPem: erp.caPem });
    const orderId = await service.createOrder({ notes: 'żółć' });
    await service.approve(orderId);
    const last = await service.event('DeliverySucceeded', orderId);

    expect(erp.calls).toHaveLength(1);
    const [call] = erp.calls;
    if (call === undefined) throw new Error('no call');
    const payload = JSON.parse(call.body.toString('utf8'));
    expect(Object.keys(payload)).toEqual(['validated_order', 'custom_data']);
    expect(payload).toMatchObject({
      validated_order: {
        id: orderId,
        processing_status: 'submitted',
        notes: 'żółć',
        customer_reference: 'PO-1',
        approved_by: 1,
        approver: { id: 1, first_name: 'Ada', email: 'ada@example.com' },
        lines: [],
        error_reason: null,
      },
      custom_data: { warehouse: 'północ' },
    });
    expect(call.method).toBe('POST');
    expect(call.headers['content-type']).toBe('application/json');
    expect(call.headers.signature).toBe(createHmac('sha256', secret).update(call.body).digest('hex'));
    expect(call.headers['user-agent']).toBe('dynamic-assets/1.2.3');
    expect(call.headers['webhook-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(call.headers).toMatchObject({
      'webhook-event': 'order.approved',
      'webhook-event-version': '2',
      'webhook-sequence': '1',
      'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
    expect(call.headers).not.toHaveProperty('webhook-replay');

    expect(typesOf(await deliveryEvents(last))).toEqual([
      'DeliveryRequested',
      'DeliveryAttemptStarted',
      'DeliverySucceeded',
    ]);
    expect(last.data).toMatchObject({ status: 202, responseBody: 'thanks' });
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved']);
    await service.stop();
    expect(await service.broker.depth(DELIVERY_QUEUE)).toMatchObject(NOTHING_WAITS);
  });

  test('each attempt is logged with what came of it, and with the host, but no more of the URL', async () => {
    const erp = await receiver(status(500, {}, 'down'), status(200));
    const { id: webhookId, secret } = await service.createWebhook(`${erp.url}/hidden-path?key=hidden-query`);
    const lines: string[] = [];
    const logger = pino({ level: 'info' }, { write: (line: string) => void lines.push(line) });
    service.start({ caPem: erp.caPem }, undefined, { deps: { logger } });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const { stream } = await service.event('DeliverySucceeded', orderId);
    await service.stop();
    const attempts = lines.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'webhook attempt');
    const deliveryId = stream.slice(stream.indexOf('.') + 1);
    const about = { tenant: TENANT, webhookId, deliveryId, orderId, host: `127.0.0.1:${erp.port}` };
    const durationMs = expect.any(Number);
    expect(attempts).toMatchObject([
      { ...about, level: 40, attempt: 1, ok: false, status: 500, reason: 'HTTP 500', durationMs },
      { ...about, level: 30, attempt: 2, ok: true, status: 200, durationMs },
    ]);
    for (const hidden of ['hidden', '/orders', secret]) expect(lines.join()).not.toContain(hidden);
  });

  test('§6.4: after a failure it is sent again: the same bytes, the same webhook-id', async () => {
    const erp = await receiver(status(500, {}, 'down'), status(200));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const last = await service.event('DeliverySucceeded', orderId);
    expect(erp.calls).toHaveLength(2);
    expect(erp.calls[1]?.body).toEqual(erp.calls[0]?.body);
    expect(erp.calls[1]?.headers['webhook-id']).toBe(erp.calls[0]?.headers['webhook-id']);
    expect(erp.calls[1]?.headers.signature).toBe(erp.calls[0]?.headers.signature);
    const events = await deliveryEvents(last);
    expect(events.map(({ type, data }) => ({ type, data }))).toMatchObject([
      { type: 'DeliveryRequested', data: { orderId } },
      { type: 'DeliveryAttemptStarted', data: { attempt: 1, url: erp.url } },
      { type: 'DeliveryAttemptFailed', data: { attempt: 1, reason: 'HTTP 500', status: 500, responseBody: 'down' } },
      { type: 'DeliveryAttemptStarted', data: { attempt: 2 } },
      { type: 'DeliverySucceeded', data: { attempt: 2, status: 200 } },
    ]);
  });

  test('§3, §6.4: after 5 failures the order is failed with the reasons, and there is no sixth call', async () => {
    const erp = await receiver(status(500));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const last = await service.event('DeliveryFailed', orderId);
    expect(last.data).toMatchObject({ attempts: 5 });
    const order = await orderEvents(orderId);
    expect(typesOf(order)).toEqual(['OrderCreated', 'OrderApproved', 'OrderExportFailed']);
    expect(order.at(-1)?.data).toMatchObject({
      status: { from: 'submitted', to: 'failed' },
      reasons: [
        'All 5 attempts to deliver to webhook ERP failed.',
        'Attempt 1: HTTP 500',
        ...[2, 3, 4, 5].map((n) => `Attempt ${n}: HTTP 500`),
      ],
    });
    await service.stop();
    expect(erp.calls).toHaveLength(5);
    expect(await service.broker.depth(DELIVERY_QUEUE)).toMatchObject(NOTHING_WAITS);

    // An order that is approved again is exported again, as another delivery.
    erp.answers = [status(200)];
    service.start({ caPem: erp.caPem });
    await service.approve(orderId);
    const again = await service.event('DeliverySucceeded', orderId);
    expect(again.stream).not.toBe(last.stream);
  });

  test('a receiver that hangs is given up and asked again', async () => {
    const erp = await receiver(hang, status(200));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem, totalTimeoutMs: 100 });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const events = await deliveryEvents(await service.event('DeliverySucceeded', orderId));
    expect(events[2]?.data).toMatchObject({ attempt: 1, status: null, reason: 'no answer within 100 ms' });
    expect(erp.calls).toHaveLength(2);
  });

  test('a redirect is a failure and is not followed', async () => {
    const elsewhere = await receiver(status(200));
    const erp = await receiver(status(307, { Location: elsewhere.url }));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliveryFailed', orderId);
    expect(erp.calls).toHaveLength(5);
    expect(elsewhere.connections).toBe(0);
  });

  test('a refused address is a failure at each attempt, and nothing connects to it', async () => {
    const erp = await receiver(status(200));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem, policy: () => 'it is refused here' });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliveryFailed', orderId);
    expect(erp.connections).toBe(0);
  });

  test('one slow receiver does not delay another', async () => {
    const slow = await receiver(hang);
    const quick = await receiver(status(200));
    await service.createWebhook(slow.url);
    await service.createWebhook(quick.url);
    service.start({ caPem: slow.caPem });
    for (let i = 0; i < 20; i++) await service.approve(await service.createOrder());
    await slow.arrived(20);
    // No call to the slow receiver has ended yet.
    await quick.arrived(20);
  });

  test('each webhook gets its own delivery; one that fails for good fails the order', async () => {
    const good = await receiver(status(200));
    const bad = await receiver(status(503));
    await service.createWebhook(good.url);
    await service.createWebhook(bad.url);
    service.start({ caPem: good.caPem });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliverySucceeded', orderId);
    await service.event('DeliveryFailed', orderId);
    expect([good.calls.length, bad.calls.length]).toEqual([1, 5]);
    expect(typesOf(await orderEvents(orderId)).at(-1)).toBe('OrderExportFailed');
  });

  test('a webhook that was removed meanwhile gets no call, and the order stays', async () => {
    const erp = await receiver(status(500));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem }, [2000]);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliveryAttemptFailed', orderId);
    await removeWebhook(service.commands, caller, id);
    const last = await service.event('DeliveryFailed', orderId);
    expect(last.data).toEqual({ attempts: 1, reason: 'webhook removed' });
    expect(erp.calls).toHaveLength(1);
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved']);
  });

  test('without a webhook an approval goes nowhere, and the order stays submitted', async () => {
    const erp = await receiver(status(200));
    service.start({ caPem: erp.caPem });
    const orderId = await service.createOrder();
    await service.approve(orderId);
    const { position } = (await orderEvents(orderId)).at(-1) ?? { position: 0 };
    while ((await service.broker.checkpoint('approval-relay')).position < position) await new Promise(setImmediate);

    // Nor does it reach a webhook that is created afterwards.
    await service.stop();
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const later = await service.createOrder();
    await service.approve(later);
    await service.event('DeliverySucceeded', later);
    expect(erp.calls).toHaveLength(1);
    expect(typesOf(await orderEvents(orderId))).toEqual(['OrderCreated', 'OrderApproved']);
  });

  test('an order reported as completed before the last failure stays completed', async () => {
    const erp = await receiver(status(500));
    await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem }, [0, 100]);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    await service.event('DeliveryAttemptFailed', orderId);
    const data = { status: { from: 'submitted', to: 'completed' }, errorReason: null };
    const report = toAppend(service.commands, caller, service.commands.now(), [{ type: 'OrderStatusChanged', data }]);
    await service.commands.eventStore.append(orderStream(TENANT, orderId), report, 'any');
    await service.event('DeliveryFailed', orderId);
    expect(typesOf(await orderEvents(orderId)).at(-1)).toBe('OrderStatusChanged');
  });
});
