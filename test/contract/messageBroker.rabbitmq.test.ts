import { setTimeout as wait } from 'node:timers/promises';
import { connect } from 'amqplib';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import { checkpointQueue } from '#app/adapters/broker/rabbitmq/topology.js';
import type { MessageBroker } from '#app/ports/messageBroker.js';
import { describeEngine } from '../engines/describeEngine.js';
import { freePort } from '../engines/freePort.js';
import { type AnyRabbitMq, anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';
import { describeMessageBroker } from './messageBroker.js';
import { untilDepth } from './queueDepth.js';
import { consume, done, newQueue, published } from './rabbitMqQueues.js';

describeEngine('rabbitmq', 'the broker contract on RabbitMQ', rabbitMqMissing(), () => {
  let rabbitMq: AnyRabbitMq;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
  });

  describeMessageBroker('rabbitmq', () => openRabbitMqBroker({ url: rabbitMq.url, onHandlerError: () => undefined }));

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

  test('a process with an earlier checkpoint leaves the later one of another process, also where both store at once', async () => {
    const [one, other, last] = await Promise.all([1, 2, 3].map(() => openRabbitMqBroker({ url: rabbitMq.url })));
    if (one === undefined || other === undefined || last === undefined) throw new Error('There are three.');
    const name = newQueue();
    const queue = newQueue();
    const store = (broker: MessageBroker, position: number) =>
      broker.publishWithCheckpoint(queue, [], { name, position });
    await store(one, 1);
    // From here on both know of 1 only, until they look.
    expect(await other.checkpoint(name)).toMatchObject({ position: 1 });
    await store(one, 20);
    await store(other, 10);
    expect(await last.checkpoint(name)).toMatchObject({ position: 20 });
    for (let round = 1; round <= 5; round += 1) {
      await Promise.all([store(one, 100 * round + 1), store(other, 100 * round)]);
      const stored = await openRabbitMqBroker({ url: rabbitMq.url });
      expect(await stored.checkpoint(name)).toMatchObject({ position: 100 * round + 1 });
      await stored.close();
    }
    await Promise.all([one, other, last].map((each) => each.close()));
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
