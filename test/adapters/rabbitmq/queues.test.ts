/** Queues that an operator, or an earlier release, has made: they are used as they are. */
import { connect, type Options } from 'amqplib';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import { untilDepth } from '../../contract/queueDepth.js';
import { consume, done, newQueue } from '../../contract/rabbitMqQueues.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyRabbitMq, anyRabbitMq, rabbitMqMissing } from '../../engines/rabbitmq.js';

const QUORUM = { 'x-queue-type': 'quorum' };

describeEngine('rabbitmq', 'queues that RabbitMQ has already', rabbitMqMissing(), () => {
  let rabbitMq: AnyRabbitMq;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
  });

  test.each<[Options.AssertQueue]>([
    [{ durable: true }],
    [{ durable: true, arguments: { 'x-queue-type': 'classic' } }],
    [{ durable: true, arguments: { ...QUORUM, 'x-quorum-initial-group-size': 1, 'x-max-length': 500 } }],
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
