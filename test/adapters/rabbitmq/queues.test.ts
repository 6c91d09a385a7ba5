/** Queues that an operator, or an earlier release, has made: they are used, or refused by the argument that differs. */
import { connect, type Options } from 'amqplib';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import { inspectRabbitMq, singleQueues } from '#app/adapters/broker/rabbitmq/inspect.js';
import { untilDepth } from '../../contract/queueDepth.js';
import { consume, done, newQueue } from '../../contract/rabbitMqQueues.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyRabbitMq, anyRabbitMq, rabbitMqMissing } from '../../engines/rabbitmq.js';

/** As the adapter makes them. */
const QUORUM = { 'x-queue-type': 'quorum', 'x-delivery-limit': 1_000_000_000 };

describeEngine('rabbitmq', 'queues that RabbitMQ has already', rabbitMqMissing(), () => {
  let rabbitMq: AnyRabbitMq;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
  });

  /** @returns its name */
  const made = async (options: Options.AssertQueue): Promise<string> => {
    const queue = newQueue();
    const connection = await connect(rabbitMq.url);
    const channel = await connection.createChannel();
    await channel.assertQueue(queue, options);
    await connection.close();
    return queue;
  };

  test('a queue that the server has as a classic one is used as it is', async () => {
    const queue = await made({ durable: true });
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    await broker.publish(queue, [{ id: 'a', body: 1 }]);
    const consumer = consume(broker, queue, ({ redeliveries }) =>
      redeliveries === 0 ? { kind: 'retry', delayMs: 50 } : done(),
    );
    await consumer.arrived(2);
    await consumer.stop();
    await untilDepth(broker, queue, { ready: 0, delayed: 0 });
    const quorum = newQueue();
    await broker.publish(quorum, [{ id: 'a', body: 1 }]);
    await broker.close();
    const inspected = await inspectRabbitMq(rabbitMq.url, [queue, quorum, newQueue()]);
    expect(inspected).toEqual({ version: expect.stringMatching(/^\d+\.\d+/), classicQueues: [queue] });
    expect(singleQueues({ ...inspected, version: '3.13.7' })).toEqual([]);
    expect(singleQueues({ ...inspected, version: '4.1.0' })).toEqual([queue]);
  });

  test.each([
    [{ durable: true, arguments: { 'x-queue-type': 'classic' } }, undefined],
    [
      {
        durable: true,
        arguments: { ...QUORUM, 'x-quorum-initial-group-size': 1, 'x-queue-leader-locator': 'balanced' },
      },
      undefined,
    ],
    [
      { durable: true, arguments: { ...QUORUM, 'x-queue-leader-locator': 'balanced', 'x-max-length': 5 } },
      /has the argument x-max-length 5 where unset is needed/,
    ],
    [
      { durable: true, arguments: { 'x-queue-type': 'stream' } },
      /has the argument x-queue-type stream where quorum is needed/,
    ],
  ])('a queue made by an operator with %j is used, or refused by the argument', async (options, refusal) => {
    const queue = await made(options);
    const broker = await openRabbitMqBroker({ url: rabbitMq.url });
    const published = broker.publish(queue, [{ id: 'a', body: 1 }]);
    if (refusal === undefined) await published;
    else await expect(published).rejects.toThrow(refusal);
    await broker.close();
  });
});
