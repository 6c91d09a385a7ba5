/** The broker on a RabbitMQ that stops, dies, hangs, or has no memory left; that has several hosts; with the least rights. */
import { readFile } from 'node:fs/promises';
import { setTimeout as wait } from 'node:timers/promises';
import { openRabbitMqBroker, type RabbitMqBrokerOptions } from '#app/adapters/broker/rabbitmq/broker.js';
import { BrokerUnavailableError, type MessageBroker } from '#app/ports/messageBroker.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { untilDepth } from '../../contract/queueDepth.js';
import { consume, done, eventually, newQueue, published } from '../../contract/rabbitMqQueues.js';
import { gate } from '../../contract/recordingConsumer.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { freePort } from '../../engines/freePort.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../../engines/rabbitmq.js';
import { TcpProxy } from '../../engines/tcpProxy.js';
import { scaled } from '../../engines/timeScale.js';

/** How soon messages pass again once the server is back. */
const SOON_MS = scaled(6_000);

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
    'what was published, delayed and noted survives a %s; consumers resume by themselves',
    async (how) => {
      const queue = newQueue();
      const troubles: Error[] = [];
      const broker = await open({ onTrouble: (error) => troubles.push(error) });
      const ids = ['kept', 'delayed', ...Array.from({ length: 20 }, (_, index) => `m${index}`)];
      const bodies = ids.map((id) => ({ id, body: id }));
      await broker.publish(queue, bodies);
      await broker.storeCheckpoint(queue, { position: 42 });
      const { held, release } = gate();
      const finished = new Set<string>();
      const consumer = consume(
        broker,
        queue,
        async ({ id, redeliveries }) => {
          if (id === 'delayed' && redeliveries === 0) return { kind: 'retry', delayMs: 1_500 };
          await held;
          finished.add(id);
          return done();
        },
        3,
      );
      await consumer.arrived(4);
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
      const backAt = Date.now();
      // What was in flight at the outage is handed out again, also where its handler has ended meanwhile.
      while (consumer.received.filter(({ id }) => id === 'kept').length < 2) await wait(20);
      await published(broker, newQueue(), 'new');
      expect(Date.now() - backAt).toBeLessThan(SOON_MS);
      while (finished.size < ids.length) await wait(20);
      await consumer.stop();
      expect([...finished].sort()).toEqual(ids.toSorted());
      await untilDepth(broker, queue, { ready: 0, delayed: 0, inFlight: 0 });
      expect(await (await open()).checkpoint(queue)).toMatchObject({ position: 42 });
      await eventually(() => broker.ping());
      // Two connections were lost, and the consumer was interrupted: once each, however many attempts failed.
      expect(troubles.length).toBeLessThanOrEqual(4);
    },
  );

  test('of several hosts the next one is taken: where one cannot be reached, and when the one in use is lost', async () => {
    const proxies = await Promise.all([TcpProxy.start(server.port), TcpProxy.start(server.port)]);
    const [first, second] = proxies;
    if (first === undefined || second === undefined) throw new Error('There are two.');
    const hosts = [await freePort(), first.port, second.port].map((port) => `127.0.0.1:${port}`);
    const broker = await open({ url: `amqp://guest:guest@${hosts.join()}?heartbeat=5` });
    const queue = newQueue();
    const consumer = consume(broker, queue, done);
    await published(broker, queue, 'a');
    await consumer.arrived(1);
    await first.dispose();
    await published(broker, queue, 'b');
    while (!consumer.received.some(({ id }) => id === 'b')) await wait(20);
    await consumer.stop();
    await second.dispose();
  });

  test('the rights that docs/operations.md names are enough', async () => {
    const page = await readFile('docs/operations.md', 'utf8');
    const [, configure = '', write = '', read = ''] =
      /set_permissions .* assets '(.+?)' '(.+?)' '(.+?)'/.exec(page) ?? [];
    await server.control('add_user', 'assets', 'secret');
    await server.control('set_permissions', 'assets', configure, write, read);
    const broker = await open({ url: server.url.replace('guest:guest', 'assets:secret') });
    for (const queue of [DELIVERY_QUEUE, BACKFILL_QUEUE]) {
      await broker.publish(queue, [{ id: 'late', body: 1 }]);
      const consumer = consume(broker, queue, ({ redeliveries }) =>
        redeliveries > 0 ? done() : { kind: 'retry', delayMs: 2_500 },
      );
      await consumer.arrived(2);
      await untilDepth(broker, queue, { ready: 0, delayed: 0 });
      await consumer.stop();
    }
    await broker.storeCheckpoint('approval-relay', { position: 3 });
    expect(await broker.checkpoint('approval-relay')).toMatchObject({ position: 3 });
    await broker.lead('webhook-relay', new AbortController().signal, async () => undefined);
    await expect(broker.publish('of others', [{ id: 'a', body: 1 }])).rejects.toThrow('ACCESS_REFUSED');
  });
});
