/** A leader's election and end, while its connection is lost or its queue is removed. */
import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { connect } from 'amqplib';
import { openRabbitMqBroker } from '#app/adapters/broker/rabbitmq/broker.js';
import { BrokerUnavailableError } from '#app/ports/messageBroker.js';
import { describeEngine } from '../../engines/describeEngine.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../../engines/rabbitmq.js';
import { TcpProxy } from '../../engines/tcpProxy.js';

describeEngine('rabbitmq', 'a leader on RabbitMQ', rabbitMqServerMissing(), () => {
  let server: RabbitMqServer;
  beforeAll(async () => {
    server = await RabbitMqServer.start();
  });
  afterAll(() => server?.dispose());

  test('ends when the connection is lost while its channel is being closed, and the same process leads again', async () => {
    const proxy = await TcpProxy.start(server.port);
    const broker = await openRabbitMqBroker({
      url: server.url.replace(`:${server.port}`, `:${proxy.port}`),
      onTrouble: () => undefined,
    });
    const { signal } = new AbortController();
    let leads = (): void => undefined;
    const leading = new Promise<void>((resolve) => {
      leads = resolve;
    });
    const first = broker.lead('relay', signal, async () => {
      proxy.freeze(true);
      leads();
      throw new BrokerUnavailableError('The broker did not confirm a message.');
    });
    const ended = expect(first).rejects.toThrow('did not confirm');
    await leading;
    // The channel's close is on its way.
    await wait(100);
    proxy.cut();
    proxy.freeze(false);
    await ended;
    await expect(broker.lead('relay', signal, async () => undefined)).resolves.toBeUndefined();
    await broker.close();
    await proxy.dispose();
  });

  test('ends when its queue is removed, and the same process leads again', async () => {
    const broker = await openRabbitMqBroker({ url: server.url, onTrouble: () => undefined });
    const { signal } = new AbortController();
    const ended = broker.lead('removed', signal, async (leading) => {
      const operator = await connect(server.url);
      await (await operator.createChannel()).deleteQueue('leader.removed');
      await operator.close();
      if (!leading.aborted) await once(leading, 'abort');
    });
    await expect(ended).rejects.toBeInstanceOf(BrokerUnavailableError);
    await expect(broker.lead('removed', signal, async () => undefined)).resolves.toBeUndefined();
    await broker.close();
  });
});
