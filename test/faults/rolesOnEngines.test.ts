/** Two processes of each role on MongoDB, RabbitMQ and a protocol double of EventStoreDB (a real one: EVENTSTORE_URL). */
import { describeEngine } from '../engines/describeEngine.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { anyEventStoreDb, eventStoreDbMissing } from '../engines/eventstoredb.js';
import { anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';
import { type SharedEngines, twoOfEachRole } from './twoOfEachRole.js';

/** A projector's lease lasts 5 s; the other asks for it each half second. The rest is for a busy machine. */
const TAKE_OVER_MS = 9_000;

async function start(): Promise<SharedEngines> {
  const eventStore = await (eventStoreDbMissing() === undefined ? anyEventStoreDb() : EventStoreDouble.start());
  const [mongoDb, rabbitMq] = await Promise.all([anyMongoDb(), anyRabbitMq()]);
  return {
    env: { EVENTSTORE_URL: eventStore.url, MONGODB_URL: mongoDb.freshUrl(), RABBITMQ_URL: rabbitMq.url },
    async dispose() {
      await eventStore.dispose();
      await mongoDb.dispose();
      await rabbitMq.dispose();
    },
  };
}

describeEngine('mongodb', 'with MongoDB as the read models', mongoDbMissing(), () => {
  describeEngine('rabbitmq', 'and RabbitMQ as the broker', rabbitMqMissing(), () => {
    twoOfEachRole(start, { takeOverMs: TAKE_OVER_MS, startMs: ENGINE_START_MS });
  });
});
