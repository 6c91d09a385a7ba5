import { disableWebhook, enableWebhook } from '#app/commands/webhooks/settings.js';
import { toAppend } from '#app/commands/writeStream.js';
import { deliveryStream, orderStream } from '#app/domain/streams.js';
import type { DeliveryQuery } from '#app/ports/deliveryLog.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import type { ReadModels } from '#app/ports/readSide.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { hang, type Receiver, startReceiver, status } from './receiver.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT, typesOf } from './service.js';

const caller = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, correlationId: 'c', causationId: 'c' } as const;
const HOUR_MS = 3_600_000;
const hoursAgo = (hours: number): string => new Date(Date.now() - hours * HOUR_MS).toISOString();

describe('disabled webhooks', () => {
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

  const disabled = (id: string) => service.commands.directory.tenant(TENANT)?.webhooks.get(id)?.disabled;
  const disable = (id: string) => disableWebhook(service.commands, caller, id, { cause: 'admin', reason: 'holidays' });

  async function approved(): Promise<string> {
    const orderId = await service.createOrder();
    await service.approve(orderId);
    return orderId;
  }

  /** Resolves when this many messages are put off. */
  async function putOff(count: number): Promise<void> {
    while ((await service.broker.depth(DELIVERY_QUEUE)).delayed < count) await new Promise(setImmediate);
  }

  /** Resolves when no message is left: what waits for a disabled webhook waits in the log. */
  async function emptied(): Promise<void> {
    const messages = async () => {
      const { ready, delayed, inFlight } = await service.broker.depth(DELIVERY_QUEUE);
      return ready + delayed + inFlight;
    };
    while ((await messages()) > 0) await new Promise(setImmediate);
  }

  /** Resolves when the relay has passed everything in the log. */
  async function relayed(): Promise<void> {
    const head = await service.commands.eventStore.head();
    while ((await service.broker.checkpoint('approval-relay')).position < head) await new Promise(setImmediate);
  }

  test('nothing is requested for one, and all of it arrives in order when it is enabled', async () => {
    erp = await startReceiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    await disable(id);
    await service.project();
    service.start({ caPem: erp.caPem });
    const orders = [await approved(), await approved()];
    await relayed();
    expect(await service.commands.eventStore.storedEventTypes()).not.toContainEqual(
      expect.objectContaining({ type: 'DeliveryRequested' }),
    );
    await enableWebhook(service.commands, caller, id);
    for (const orderId of orders) await service.event('DeliverySucceeded', orderId);
    expect(erp.calls).toHaveLength(2);
  });

  test('what was requested before it was disabled waits without a message, and is sent when it is enabled', async () => {
    erp = await startReceiver(status(500), status(200));
    const { id } = await service.createWebhook(erp.url);
    await service.project();
    service.start({ caPem: erp.caPem }, [0, 500]);
    const orderId = await approved();
    await erp.arrived(1);
    await disable(id);
    await emptied();
    expect(erp.calls).toHaveLength(1);
    await enableWebhook(service.commands, caller, id);
    await service.event('DeliverySucceeded', orderId);
    expect(erp.calls).toHaveLength(2);
  });

  test('an event after it was enabled follows those that it missed', async () => {
    erp = await startReceiver(status(200));
    const { id } = await service.createWebhook(erp.url, {}, { events: ['order.created', 'order.updated'] });
    await disable(id);
    await service.project();
    // There never is room for what was missed.
    const { readModels } = service.commands;
    const full: ReadModels = Object.assign(Object.create(readModels), {
      deliveries: (tenant: string, query: DeliveryQuery) =>
        query.order === 'oldest' ? readModels.deliveries(tenant, query) : Array.from({ length: query.limit }),
    });
    service.start({ caPem: erp.caPem }, [0, 20], { deps: { commands: { ...service.commands, readModels: full } } });
    const orderId = await service.createOrder();
    await relayed();
    await enableWebhook(service.commands, caller, id);
    await service.update(orderId, 'a', 'b');
    await erp.arrived(2);
    expect(erp.calls.map(({ headers }) => headers['webhook-event'])).toEqual(['order.created', 'order.updated']);
  });

  test('what waits for a slot when it is disabled is not sent', async () => {
    erp = await startReceiver(hang);
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem, totalTimeoutMs: 500 }, [0, 1000], { endpointConcurrency: 1 });
    await approved();
    await erp.arrived(1);
    await approved();
    await disable(id);
    await emptied();
    expect(erp.calls).toHaveLength(1);
  });

  test('§6.4: an order whose receiver answers 410 has its five attempts and fails; the fifth disables the webhook', async () => {
    erp = await startReceiver(status(410));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const orderId = await approved();
    await service.event('DeliveryFailed', orderId);
    expect(erp.calls).toHaveLength(5);
    expect(disabled(id)).toMatchObject({ cause: 'gone', reason: 'The receiver answered 410 Gone.' });
    const order = await service.commands.eventStore.readStream(orderStream(TENANT, orderId));
    expect(order.at(-1)).toMatchObject({
      type: 'OrderExportFailed',
      data: {
        status: { to: 'failed' },
        reasons: [
          'All 5 attempts to deliver to webhook ERP failed.',
          ...[1, 2, 3, 4, 5].map((n) => `Attempt ${n}: HTTP 410 Gone`),
          'The webhook is disabled: The receiver answered 410 Gone.',
        ],
      },
    });
  });

  test('§6.4: after 410 an order is delivered when the receiver is there again', async () => {
    erp = await startReceiver(...Array.from({ length: 4 }, () => status(410)), status(200));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    await service.event('DeliverySucceeded', await approved());
    expect(disabled(id)).toBeUndefined();
  });

  test('§6.4: a fifth attempt that is answered 410 disables as well, and fails the order', async () => {
    erp = await startReceiver(...Array.from({ length: 4 }, () => status(500)), status(410));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem });
    const orderId = await approved();
    await service.event('DeliveryFailed', orderId);
    expect(disabled(id)).toMatchObject({ cause: 'gone' });
    const order = await service.commands.eventStore.readStream(orderStream(TENANT, orderId));
    expect(typesOf(order).at(-1)).toBe('OrderExportFailed');
  });

  describe('that have failed for too long', () => {
    /** A webhook created hours ago, and an attempt of that time in the delivery log. */
    async function madeHoursAgo(hours: number, outcome: 'failed' | 'succeeded'): Promise<string> {
      const { id: webhookId } = await service.createWebhook(erp.url, {}, { now: () => hoursAgo(hours) });
      const subject = { webhookId, kind: 'order.approved', orderId: '', sourceEventId: '', sourceRevision: 0 };
      const ended = { attempt: 1, reason: 'HTTP 500', status: 500, durationMs: 1, responseBody: null };
      const events = toAppend(service.commands, caller, hoursAgo(hours), [
        { type: 'DeliveryRequested', data: subject },
        { type: 'DeliveryAttemptStarted', data: { attempt: 1, url: erp.url } },
        { type: outcome === 'failed' ? 'DeliveryAttemptFailed' : 'DeliverySucceeded', data: ended },
      ]);
      const stream = deliveryStream(TENANT, service.commands.newId());
      await service.commands.eventStore.append(stream, events, 'no-stream');
      return webhookId;
    }

    /** Two deliveries that fail for good. */
    async function fail(): Promise<void> {
      for (let i = 0; i < 2; i++) await service.event('DeliveryFailed', await approved());
    }

    beforeEach(async () => {
      erp = await startReceiver(status(500));
      await service.project();
    });

    test('without a success are disabled', async () => {
      const id = await madeHoursAgo(3, 'failed');
      service.start({ caPem: erp.caPem }, [0, 5], { disableAfterHours: 2 });
      const first = await approved();
      await service.event('DeliveryFailed', first);
      // A single delivery disables nothing.
      expect(disabled(id)).toBeUndefined();
      await approved();
      await service.events('WebhookDisabled', 1);
      expect(disabled(id)).toMatchObject({ cause: 'failing', reason: expect.stringContaining('No attempt') });
      await emptied();
    });

    test.each([
      ['when the last success is not so long ago', 'succeeded', 3, 2],
      ['when the first failure is not so long ago', 'failed', 1, 2],
      ['when that is switched off', 'failed', 3, 0],
    ] as const)('are not disabled %s', async (_, outcome, hours, disableAfterHours) => {
      const id = await madeHoursAgo(hours, outcome);
      service.start({ caPem: erp.caPem }, [0, 5], { disableAfterHours });
      await fail();
      expect(disabled(id)).toBeUndefined();
    });

    test('have as long again when they are enabled', async () => {
      const id = await madeHoursAgo(3, 'failed');
      await disable(id);
      await enableWebhook(service.commands, caller, id);
      service.start({ caPem: erp.caPem }, [0, 5], { disableAfterHours: 2 });
      await fail();
      expect(disabled(id)).toBeUndefined();
    });

    test('are not disabled while the read models are away, and deliveries go on', async () => {
      const id = await madeHoursAgo(3, 'failed');
      const away = async (): Promise<never> => {
        throw new ReadModelsUnavailableError('away');
      };
      const readModels: ReadModels = Object.assign(Object.create(service.commands.readModels), {
        waitFor: away,
        webhookHealth: away,
      });
      const deps = { commands: { ...service.commands, readModels } };
      service.start({ caPem: erp.caPem }, [0, 5], { disableAfterHours: 2, deps });
      await fail();
      expect(disabled(id)).toBeUndefined();
      erp.answers = [status(200)];
      await service.event('DeliverySucceeded', await approved());
    });
  });

  describe('circuits', () => {
    test('a receiver that keeps failing is left alone, and no attempt is used up meanwhile', async () => {
      erp = await startReceiver(status(500));
      await service.createWebhook(erp.url);
      const circuit = { failures: 3, spanMs: 0, firstProbeMs: 400, longestProbeMs: 400 };
      service.start({ caPem: erp.caPem }, [0, 5], { circuit, endpointConcurrency: 1 });
      const orderId = await approved();
      await erp.arrived(3);
      await putOff(1);
      const [, , third] = erp.calls;
      expect(third).toBeDefined();
      const since = performance.now();
      erp.answers = [status(200)];
      await service.event('DeliverySucceeded', orderId);
      expect(performance.now() - since).toBeGreaterThan(200);
      expect(erp.calls).toHaveLength(4);
    });
  });
});
