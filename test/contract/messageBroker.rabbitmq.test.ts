import { setTimeout as wait } from 'node:timers/promises';
import { connect, type Options } from 'amqplib';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import { checkpointQueue } from '#app/adapters/broker/rabbitmq/queues.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import { type AnyRabbitMq, anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { describeMessageBroker } from './messageBroker.js';
import { untilDepth } from './queueDepth.js';
import { consume, done, newQueue, published } from './rabbitMqQueues.js';

describeEngine('rabbitmq', 'the broker contract on RabbitMQ', rabbitMqMissing(), () => {
  let rabbitMq: AnyRabbitMq;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
  });

  describeMessageBroker('rabbitmq', () => openRabbitMqBroker({ url: rabbitMq.url }));

  test('a checkpoint that another process holds is waited for, and not taken for none', async () => {
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    const later = await openRabbitMqBroker({ url: rabbitMq.url });
    const name = newQueue();
    await broker.storeCheckpoint(name, { position: 17 });
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createChannel();
    const prefix = new URL(rabbitMq.url).searchParams.get('queue_prefix') ?? '';
    expect(await channel.get(checkpointQueue(prefix + name))).not.toBe(false);
    const read = later.checkpoint(name);
    await wait(300);
    await connection.close();
    expect(await read).toMatchObject({ position: 17 });
    await Promise.all([broker, later].map((each) => each.close()));
  });

  test('a delay of seconds passes on the server, in several queues, and is no longer and no shorter', async () => {
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    const queue = newQueue();
    const at: number[] = [];
    const consumer = consume(broker, queue, ({ redeliveries }) => {
      at.push(performance.now());
      return redeliveries === 0 ? { kind: 'retry', delayMs: 7_000 } : done();
    });
    await broker.publish(queue, [{ id: 'a', body: 1 }]);
    await consumer.arrived(1);
    await untilDepth(broker, queue, { ready: 0, delayed: 1, inFlight: 0 });
    await consumer.arrived(2);
    await consumer.stop();
    const [first = 0, second = 0] = at;
    expect(second - first).toBeGreaterThanOrEqual(6_990);
    expect(second - first).toBeLessThan(7_000 + scaled(1_000));
    expect(consumer.received.map(({ redeliveries }) => redeliveries)).toEqual([0, 1]);
    await broker.close();
  });

  test('a message of somebody else that is not JSON is dropped', async () => {
    const queue = newQueue();
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    await untilDepth(broker, queue, { ready: 0 });
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createConfirmChannel();
    channel.sendToQueue(queue, Buffer.from('no JSON'));
    await channel.waitForConfirms();
    await connection.close();
    const consumer = consume(broker, queue, done);
    await untilDepth(broker, queue, { ready: 0, inFlight: 0 });
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

  test.each<[Options.AssertQueue]>([
    // As an operator, or an earlier release, has made it.
    [{ durable: true }],
    [{ durable: true, arguments: { 'x-queue-type': 'classic' } }],
    [{ durable: true, arguments: { 'x-queue-type': 'quorum', 'x-quorum-initial-group-size': 1, 'x-max-length': 500 } }],
  ])('a queue made with %j is used as it is', async (options) => {
    const queue = newQueue();
    const connection = await connect(rabbitMq.url);
    const prefix = new URL(rabbitMq.url).searchParams.get('queue_prefix') ?? '';
    await (await connection.createChannel()).assertQueue(prefix + queue, options);
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
