/** The acceptance tests of everything that goes through the broker, once more with RabbitMQ. */
import { describeEngine } from '../engines/describeEngine.js';
import { anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';

describeEngine('rabbitmq', 'with RabbitMQ as the broker', rabbitMqMissing(), () => {
  const before = process.env.RABBITMQ_URL;
  let rabbitMq: Awaited<ReturnType<typeof anyRabbitMq>> | undefined;
  beforeAll(async () => {
    rabbitMq = await anyRabbitMq();
    // The services that the tests below start look here.
    process.env.RABBITMQ_URL = rabbitMq.url;
  });
  afterAll(async () => {
    if (before === undefined) delete process.env.RABBITMQ_URL;
    await rabbitMq?.dispose();
  });

  // Each registers its tests here.
  describe('webhooks', () => void require('./webhooks.test.js'));
  describe('webhook settings', () => void require('./webhookSettings.test.js'));
  describe('export', () => void require('./exportPayload.test.js'));
});
