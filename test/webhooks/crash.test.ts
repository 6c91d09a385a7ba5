import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { orderStream, parseStream } from '#app/domain/streams.js';
import { hang, type Receiver, startReceiver } from './receiver.js';
import {
  makeDataDirectory,
  openService,
  removeDataDirectory,
  SECRET_KEY,
  type Service,
  TENANT,
  typesOf,
} from './service.js';

/** Long enough that a living process renews it, short enough to wait for. */
const LEASE_MS = 500;

describe('webhooks when their process is killed', () => {
  let directory: string;
  let service: Service;
  let receiver: Receiver;
  let child: ChildProcess | undefined;

  beforeEach(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory, LEASE_MS);
  });

  afterEach(async () => {
    await kill();
    await receiver.close();
    await service.close();
    await removeDataDirectory(directory);
  });

  function start(): void {
    const settings = {
      directory,
      caPem: receiver.caPem,
      leaseMs: LEASE_MS,
      backoffMs: [0, 5],
      secretKey: SECRET_KEY.toString('hex'),
    };
    const script = join('test', 'webhooks', 'subscriberProcess.mjs');
    child = spawn(process.execPath, [script, JSON.stringify(settings)], { stdio: ['ignore', 'inherit', 'inherit'] });
  }

  async function kill(): Promise<void> {
    if (child === undefined) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    child = undefined;
  }

  test('in the middle of each call: five calls, never a sixth, and the order fails', async () => {
    receiver = await startReceiver(hang);
    await service.createWebhook(receiver.url);
    const orderId = await service.createOrder();
    await service.approve(orderId);
    for (let call = 1; call <= 5; call++) {
      start();
      await receiver.arrived(call);
      await kill();
    }
    start();
    await service.event('DeliveryFailed', orderId);
    expect(receiver.calls).toHaveLength(5);
    expect(new Set(receiver.calls.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
    const order = await service.commands.eventStore.readStream(orderStream(TENANT, orderId));
    expect(typesOf(order)).toEqual(['OrderCreated', 'OrderApproved', 'OrderExportFailed']);
  });

  test('at random moments: each approval is delivered or fails after exactly 5 attempts', async () => {
    receiver = await startReceiver((response, { headers }) => {
      const digit = Number.parseInt(String(headers['webhook-id']).slice(-1), 16);
      // A quarter always fails, a quarter fails now and then, half is fine.
      if (digit < 4) response.writeHead(500).end();
      else if (digit < 8 && receiver.calls.length % 2 === 0) response.destroy();
      else setTimeout(() => response.writeHead(200).end(), digit);
    });
    await service.createWebhook(receiver.url);
    const orders = 80;
    const approving = (async () => {
      for (let i = 0; i < orders; i++) await service.approve(await service.createOrder());
    })();
    for (let kills = 0; kills < 6; kills++) {
      start();
      await receiver.arrived(receiver.calls.length + 1 + Math.floor(Math.random() * 12));
      await kill();
    }
    start();
    await approving;

    const deliveries = await endedDeliveries(service, orders);
    for (const [deliveryId, types] of deliveries) {
      const attempts = types.filter((type) => type === 'DeliveryAttemptStarted').length;
      const calls = receiver.calls.filter(({ headers }) => headers['webhook-id'] === deliveryId).length;
      expect(calls).toBeLessThanOrEqual(attempts);
      if (types.includes('DeliveryFailed')) expect(attempts).toBe(5);
      else expect([attempts <= 5, calls >= 1]).toEqual([true, true]);
    }
    const failed = [...deliveries.values()].filter((types) => types.includes('DeliveryFailed')).length;
    expect(await count(service, 'OrderExportFailed')).toBe(failed);
  });
});

/** Types of the events of each delivery, by its id, once this many have ended. */
async function endedDeliveries(service: Service, wanted: number): Promise<Map<string, string[]>> {
  const deliveries = new Map<string, string[]>();
  const streamPrefixes = ['delivery-'];
  const { signal } = new AbortController();
  for await (const { events } of service.commands.eventStore.subscribe({ after: 0, streamPrefixes, signal })) {
    for (const event of events) {
      const { rest } = parseStream(event.stream);
      deliveries.set(rest, [...(deliveries.get(rest) ?? []), event.type]);
    }
    const ended = [...deliveries.values()].filter((types) => /Succeeded|DeliveryFailed/.test(types.at(-1) ?? ''));
    if (ended.length >= wanted) break;
  }
  return deliveries;
}

/** Number of events of a type in the log. */
async function count(service: Service, type: string): Promise<number> {
  let found = 0;
  const { signal } = new AbortController();
  for await (const { events, caughtUp } of service.commands.eventStore.subscribe({ after: 0, signal })) {
    found += events.filter((event) => event.type === type).length;
    if (caughtUp) break;
  }
  return found;
}
