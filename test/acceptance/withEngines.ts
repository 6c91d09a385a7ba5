/** The acceptance tests once more, with MongoDB and RabbitMQ switched on behind every service they start. */
import { readdirSync } from 'node:fs';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';

/**
 * Registers a share of them: each file of this directory belongs to one of `shares`, so that they run side by side.
 * @param share from 0
 */
export function withEngines({ share, shares }: { readonly share: number; readonly shares: number }): void {
  describeEngine('mongodb', 'with MongoDB as the read models', mongoDbMissing(), () => {
    describeEngine('rabbitmq', 'and RabbitMQ as the broker', rabbitMqMissing(), () => {
      const before = { ...process.env };
      let mongoDb: AnyMongoDb | undefined;
      let rabbitMq: Awaited<ReturnType<typeof anyRabbitMq>> | undefined;
      beforeAll(async () => {
        [mongoDb, rabbitMq] = await Promise.all([anyMongoDb(), anyRabbitMq()]);
        // The services look here.
        process.env.MONGODB_URL = mongoDb.freshUrl();
        process.env.RABBITMQ_URL = rabbitMq.url;
      }, ENGINE_START_MS);
      afterAll(async () => {
        process.env = before;
        await mongoDb?.dispose();
        await rabbitMq?.dispose();
      });
      // Each registers its tests here.
      for (const name of filesOf(share, shares)) describe(name, () => void require(`./${name}.test.js`));
    });
  });
}

function filesOf(share: number, shares: number): readonly string[] {
  const names = readdirSync(__dirname).flatMap((file) => /^(?!onEngines)(\w+)\.test\.ts$/.exec(file)?.[1] ?? []);
  return names.sort().filter((_, index) => index % shares === share);
}
