/** The acceptance tests once more, with MongoDB and RabbitMQ switched on behind every service they start. */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeEngine } from '../../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../../engines/mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from '../../engines/rabbitmq.js';

/**
 * Registers the tests of a folder of test/acceptance.
 * @param except files that are left out, such as `auth.test.ts`: what they are about is decided before an engine is asked
 */
export function repeatOnProductionEngines(folder: string, except: readonly string[] = []): void {
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
      const directory = resolve(__dirname, '..', folder);
      for (const file of readdirSync(directory).filter((name) => name.endsWith('.test.ts') && !except.includes(name))) {
        // Loading the file registers its tests.
        describe(`${folder}/${file}`, () => void require(join(directory, file)));
      }
    });
  });
}
