/** MongoDB, RabbitMQ and a protocol double of EventStoreDB (a real one: EVENTSTORE_URL), for a service whose processes share them. */
import { describeEngine } from './describeEngine.js';
import { EventStoreDouble } from './eventStoreDouble.js';
import { anyMongoDb, mongoDbMissing } from './mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from './rabbitmq.js';

export type ProductionEngines = {
  /** Settings that name them. */
  readonly env: { readonly EVENTSTORE_URL: string; readonly MONGODB_URL: string; readonly RABBITMQ_URL: string };
  dispose(): Promise<void>;
};

export async function startProductionEngines(): Promise<ProductionEngines> {
  const given = process.env.EVENTSTORE_URL;
  const eventStore =
    given === undefined ? await EventStoreDouble.start() : { url: given, dispose: async () => undefined };
  const [mongoDb, rabbitMq] = await Promise.all([anyMongoDb(), anyRabbitMq()]);
  return {
    env: { EVENTSTORE_URL: eventStore.url, MONGODB_URL: mongoDb.freshUrl(), RABBITMQ_URL: rabbitMq.freshUrl() },
    async dispose() {
      await eventStore.dispose();
      await mongoDb.dispose();
    },
  };
}

/** Tests that need them. */
export function describeProductionEngines(tests: () => void): void {
  describeEngine('mongodb', 'with MongoDB as the read models', mongoDbMissing(), () => {
    describeEngine('rabbitmq', 'and RabbitMQ as the broker', rabbitMqMissing(), tests);
  });
}
