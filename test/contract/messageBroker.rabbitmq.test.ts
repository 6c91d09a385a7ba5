import { setTimeout as wait } from 'node:timers/promises';
import { connect } from 'amqplib';
import fc from 'fast-check';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import {
  checkpointQueue,
  delayName,
  delayRoute,
  LEVELS,
  MAX_DELAY_MS,
} from '#app/adapters/broker/rabbitmq/topology.js';
import { HELD_PER_MESSAGE_IN_FLIGHT } from '#app/domain/limits.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import { type AnyRabbitMq, anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { describeMessageBroker } from './messageBroker.js';
import { untilDepth } from './queueDepth.js';
import { consume, done, newQueue, published } from './rabbitMqQueues.js';
import type { Handler } from './recordingConsumer.js';

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

  test('a checkpoint that another process holds is waited for, and not taken for none', async () => {
    const [broker, later] = [
      await openRabbitMqBroker({ url: rabbitMq.url }),
      await openRabbitMqBroker({ url: rabbitMq.url }),
    ];
    const name = newQueue();
    await broker.publishWithCheckpoint(newQueue(), [], { name, position: 17 });
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createChannel();
    const prefix = new URL(rabbitMq.url).searchParams.get('queue_prefix') ?? '';
    expect(await channel.get(checkpointQueue(prefix + name))).not.toBe(false);
    const stored = later.publishWithCheckpoint(newQueue(), [], { name, position: 5 });
    await wait(400);
    await connection.close();
    await stored;
    const last = await openRabbitMqBroker({ url: rabbitMq.url });
    expect(await last.checkpoint(name)).toMatchObject({ position: 17 });
    await Promise.all([broker, later, last].map((each) => each.close()));
  });

  /** Messages in the queue's delay queues on the server. */
  const delayedOnServer = async (queue: string): Promise<number> => {
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createChannel();
    let count = 0;
    for (let level = 0; level < LEVELS; level++) {
      count += (await channel.checkQueue(delayName(queue, level))).messageCount;
    }
    await connection.close();
    return count;
  };

  test('a message that is put off for a moment waits in the process; on the server only once that stops', async () => {
    const queue = newQueue();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    await broker.publish(queue, [{ id: 'a', body: 1 }]);
    let dueAt = 0;
    const consumer = consume(broker, queue, () => {
      dueAt = Date.now() + 2_000;
      return { kind: 'retry', delayMs: 2_000 };
    });
    await consumer.arrived(1);
    await untilDepth(broker, queue, { ready: 0, delayed: 1, inFlight: 0 });
    expect(await delayedOnServer(queue)).toBe(0);
    await consumer.stop();
    await untilDepth(broker, queue, { ready: 0, delayed: 1, inFlight: 0 });
    const next = consume(broker, queue, done);
    await next.arrived(1);
    expect(Date.now()).toBeGreaterThanOrEqual(dueAt - 1);
    expect(next.received).toMatchObject([{ id: 'a', redeliveries: consumer.received.length }]);
    await next.stop();
    await broker.close();
  });

  test('where no more can be held, messages that are put off hold up nobody', async () => {
    const queue = newQueue();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    const put = Array.from({ length: 2 * HELD_PER_MESSAGE_IN_FLIGHT + 2 }, (_, n) => ({ id: `put off ${n}`, body: 1 }));
    await broker.publish(queue, [...put, { id: 'last', body: 1 }]);
    const handle: Handler = ({ id, redeliveries }) =>
      id !== 'last' && redeliveries === 0 ? { kind: 'retry', delayMs: 1_900 } : done();
    const consumer = consume(broker, queue, handle, 1);
    await consumer.arrived(put.length + 1);
    expect(consumer.received.at(-1)).toMatchObject({ id: 'last' });
    await consumer.arrived(2 * put.length + 1);
    await consumer.stop();
    await untilDepth(broker, queue, { ready: 0, delayed: 0, inFlight: 0 });
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
    { seed: 1 },
  );
  expect(delayRoute(10 * MAX_DELAY_MS).delayMs).toBe(MAX_DELAY_MS);
});
