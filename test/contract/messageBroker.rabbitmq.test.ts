import { randomUUID } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from 'amqplib';
import fc from 'fast-check';
import { openRabbitMqBroker, type RabbitMqBrokerOptions } from '#app/adapters/broker/rabbitmq/broker.js';
import { delayRoute, MAX_DELAY_MS } from '#app/adapters/broker/rabbitmq/topology.js';
import { BrokerUnavailableError, type MessageBroker, type Outcome } from '#app/ports/messageBroker.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import {
  type AnyRabbitMq,
  anyRabbitMq,
  RabbitMqServer,
  rabbitMqMissing,
  rabbitMqServerMissing,
} from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { describeMessageBroker } from './messageBroker.js';
import { untilDepth } from './queueDepth.js';
import { gate, type Handler, RecordingConsumer } from './recordingConsumer.js';

const done = (): Outcome => ({ kind: 'done' });
const consume = (broker: MessageBroker, queue: string, handle: Handler, concurrency = 10): RecordingConsumer =>
  new RecordingConsumer(broker, queue, handle, concurrency, new AbortController());
const newQueue = (): string => `contract-${randomUUID()}`;

describeEngine('rabbitmq', 'the broker contract on RabbitMQ', rabbitMqMissing(), () => {
  let rabbitMq: AnyRabbitMq;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
  });

  describeMessageBroker('rabbitmq', () => openRabbitMqBroker({ url: rabbitMq.url, onHandlerError: () => undefined }));

  test('each delay is kept, not less and at most a tenth or a second more, beside others that wait', async () => {
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    const queue = newQueue();
    const delays = [5_000, 0, 1, 100, 730, 1_500, 50, 2_900, 320];
    const sentAt = new Map<string, number>();
    const lateness: number[] = [];
    await broker.publish(
      queue,
      [...delays.keys()].map((index) => ({ id: String(index), body: null })),
    );
    const consumer = consume(broker, queue, ({ id, redeliveries }) => {
      const delayMs = delays[Number(id)] ?? 0;
      if (redeliveries === 0) {
        sentAt.set(id, Date.now());
        return { kind: 'retry', delayMs };
      }
      const tookMs = Date.now() - (sentAt.get(id) ?? 0);
      expect(tookMs).toBeGreaterThanOrEqual(delayMs - 1);
      lateness.push(tookMs - delayMs * 1.1);
      return done();
    });
    await consumer.arrived(2 * delays.length);
    await consumer.stop();
    expect(lateness).toHaveLength(delays.length);
    expect(Math.max(...lateness)).toBeLessThan(scaled(1_000));
    await broker.close();
  });

  test('a queue that the server has as a classic one is used as it is', async () => {
    const queue = newQueue();
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createChannel();
    await channel.assertQueue(queue, { durable: true });
    await connection.close();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    await broker.publish(queue, [{ id: 'a', body: 1 }]);
    const consumer = consume(broker, queue, ({ redeliveries }) =>
      redeliveries === 0 ? { kind: 'retry', delayMs: 50 } : done(),
    );
    await consumer.arrived(2);
    await consumer.stop();
    await untilDepth(broker, queue, { ready: 0, delayed: 0 });
    await broker.close();
  });

  test('a message of somebody else that is not JSON becomes a dead letter', async () => {
    const queue = newQueue();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    await untilDepth(broker, queue, { ready: 0 });
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createConfirmChannel();
    channel.sendToQueue(queue, Buffer.from('no JSON'));
    await channel.waitForConfirms();
    await connection.close();
    const consumer = consume(broker, queue, done);
    await untilDepth(broker, queue, { ready: 0, dead: 1 });
    expect(await broker.deadLetters(queue, 1)).toMatchObject([{ id: '', body: 'no JSON' }]);
    expect(consumer.received).toEqual([]);
    await consumer.stop();
    await broker.close();
  });

  test('a queue that was removed is made again', async () => {
    const queue = newQueue();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url, onTrouble: () => undefined });
    const consumer = consume(broker, queue, done);
    await broker.publish(queue, [{ id: 'a', body: 1 }]);
    await consumer.arrived(1);
    const connection = await connect(rabbitMq.url);
    await (await connection.createChannel()).deleteQueue(queue);
    await connection.close();
    await published(broker, queue, 'b');
    await consumer.arrived(2);
    await consumer.stop();
    await broker.close();
  });
});

/** Tries until the broker is available. */
async function eventually(work: () => Promise<void>): Promise<void> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof BrokerUnavailableError)) throw error;
      await wait(50);
    }
  }
}

const published = (broker: MessageBroker, queue: string, id: string): Promise<void> =>
  eventually(() => broker.publish(queue, [{ id, body: 1 }]));

describeEngine('rabbitmq', 'RabbitMQ goes away and comes back', rabbitMqServerMissing(), () => {
  let server: RabbitMqServer;
  let brokers: MessageBroker[] = [];
  const open = async (options: Partial<RabbitMqBrokerOptions> = {}): Promise<MessageBroker> => {
    const broker = await openRabbitMqBroker({ url: server.url, onTrouble: () => undefined, ...options });
    brokers.push(broker);
    return broker;
  };
  beforeAll(async () => {
    server = await RabbitMqServer.start();
  });
  afterAll(() => server.dispose());
  afterEach(async () => {
    await Promise.all(brokers.map((broker) => broker.close()));
    brokers = [];
  });

  test.each(['stop', 'kill'] as const)(
    'what was published, delayed, set aside and noted survives a %s; consumers resume by themselves',
    async (how) => {
      const queue = newQueue();
      const troubles: Error[] = [];
      const broker = await open({ onTrouble: (error) => troubles.push(error) });
      const ids = ['kept', 'delayed', 'dead', ...Array.from({ length: 20 }, (_, index) => `m${index}`)];
      const bodies = ids.map((id) => ({ id, body: id }));
      await broker.publishWithCheckpoint(queue, bodies, { name: queue, position: 42 });
      const { held, release } = gate();
      const finished = new Set<string>();
      const consumer = consume(
        broker,
        queue,
        async ({ id, redeliveries }) => {
          if (id === 'delayed' && redeliveries === 0) return { kind: 'retry', delayMs: 1_500 };
          if (id === 'dead') return { kind: 'dead', reason: 'set aside' };
          await held;
          finished.add(id);
          return done();
        },
        3,
      );
      await consumer.arrived(5);
      // RabbitMQ 3.10 itself loses a queue that was made less than half a second before it is killed.
      await wait(1_000);
      await server[how]();
      const startedAt = Date.now();
      await expect(broker.publish(queue, [{ id: 'lost', body: 1 }])).rejects.toThrow(BrokerUnavailableError);
      await expect(broker.depth(queue)).rejects.toThrow(BrokerUnavailableError);
      await expect(broker.checkpoint(queue)).rejects.toThrow(BrokerUnavailableError);
      await expect(broker.ping()).rejects.toThrow(/RabbitMQ is not available: /);
      expect(Date.now() - startedAt).toBeLessThan(scaled(2_000));
      release();
      await server.start();
      // What was in flight at the outage is handed out again, also where its handler has ended meanwhile.
      while (consumer.received.filter(({ id }) => id === 'kept').length < 2) await wait(20);
      while (finished.size < ids.length - 1) await wait(20);
      await consumer.stop();
      expect([...finished].sort()).toEqual(ids.filter((id) => id !== 'dead').sort());
      await untilDepth(broker, queue, { ready: 0, delayed: 0, inFlight: 0, dead: 1 });
      expect(await (await open()).checkpoint(queue)).toMatchObject({ position: 42 });
      await eventually(() => broker.ping());
      // Two connections were lost, and the consumer was interrupted: once each, however many attempts failed.
      expect(troubles.length).toBeLessThanOrEqual(4);
    },
  );

  test('a broker that is opened while the server is away rejects, and works when it is there', async () => {
    const broker = await open();
    const queue = newQueue();
    await server.stop();
    const late = await open();
    await expect(late.publish(queue, [{ id: 'a', body: 1 }])).rejects.toThrow(BrokerUnavailableError);
    const consumer = consume(late, queue, done);
    await server.start();
    await published(late, queue, 'a');
    await consumer.arrived(1);
    await broker.ping();
    await consumer.stop();
  });

  test('a server that hangs: calls reject in time, and what was in flight is handed out again', async () => {
    const queue = newQueue();
    const broker = await open({ url: `${server.url}?heartbeat=1`, timeoutMs: 500 });
    await published(broker, queue, 'a');
    await server.freeze();
    const startedAt = Date.now();
    await expect(broker.publish(queue, [{ id: 'b', body: 1 }])).rejects.toThrow(BrokerUnavailableError);
    await expect(broker.ping()).rejects.toThrow(BrokerUnavailableError);
    expect(Date.now() - startedAt).toBeLessThan(scaled(6_000));
    await server.thaw();
    await published(broker, queue, 'c');
    const consumer = consume(broker, queue, done);
    while (!consumer.received.some(({ id }) => id === 'c')) await wait(20);
    expect(consumer.received.map(({ id }) => id)).toContain('a');
    await consumer.stop();
  });

  test('a server low on memory: publishing rejects, what is in the queue is still worked off', async () => {
    const queue = newQueue();
    const broker = await open({ timeoutMs: 1_000 });
    await published(broker, queue, 'a');
    await server.control('set_vm_memory_high_watermark', '0');
    await expect(broker.publish(queue, [{ id: 'b', body: 1 }])).rejects.toThrow(BrokerUnavailableError);
    await expect(broker.ping()).rejects.toThrow('RabbitMQ takes no messages for now');
    const consumer = consume(broker, queue, done);
    await consumer.arrived(1);
    await untilDepth(broker, queue, { ready: 0, inFlight: 0 });
    await server.control('set_vm_memory_high_watermark', '0.8');
    await published(broker, queue, 'c');
    while (!consumer.received.some(({ id }) => id === 'c')) await wait(20);
    await consumer.stop();
  });

  test('closing while the server is away ends cleanly', async () => {
    const broker = await open();
    const consumer = consume(broker, newQueue(), done);
    await broker.ping();
    await server.kill();
    await expect(broker.ping()).rejects.toThrow(BrokerUnavailableError);
    await broker.close();
    await consumer.stop();
    await server.start();
  });
});

test('an address where nobody listens is named in the error, the password is not', async () => {
  const port = await freePort();
  const url = `amqp://user:secret@127.0.0.1:${port}`;
  const broker = await openRabbitMqBroker({ url, onTrouble: () => undefined });
  const failure = await broker.publish('any', [{ id: 'a', body: 1 }]).catch(String);
  expect(failure).toContain(`127.0.0.1:${port}`);
  expect(failure).not.toContain('secret');
  await broker.close();
});

test('a delay is rounded up, by at most a sixteenth or 50 ms, up to the longest one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: MAX_DELAY_MS }), (asked) => {
      const { delayMs, level, routingKey } = delayRoute(asked);
      expect(delayMs).toBeGreaterThanOrEqual(asked);
      expect(delayMs).toBeLessThanOrEqual(Math.max(asked + 50, (asked + 50) * (1 + 1 / 16)));
      const bits = routingKey.split('.');
      expect(Number.parseInt(bits.join(''), 2) * 50).toBe(delayMs);
      expect(bits.indexOf('1')).toBe(level === undefined ? -1 : bits.length - 1 - level);
    }),
  );
  expect(delayRoute(10 * MAX_DELAY_MS).delayMs).toBe(MAX_DELAY_MS);
});
