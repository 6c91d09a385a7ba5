/** The acceptance tests with MongoDB and RabbitMQ behind every service that they start. */
import { readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describeEngine } from '../engines/describeEngine.js';
import { type AnyMongoDb, anyMongoDb, ENGINE_START_MS, mongoDbMissing } from '../engines/mongodb.js';
import { anyRabbitMq, rabbitMqMissing } from '../engines/rabbitmq.js';

const ACCEPTANCE = resolve(__dirname, '../acceptance');

/**
 * Registers the tests of folders, or files, of test/acceptance, in this order and each once, but not those of `itOfRequests`.
 * @param except files that are left out, such as `tables/assets.test.ts`: what they test is decided before an engine is asked
 */
export function repeatOnProductionEngines(folders: readonly string[], except: readonly string[] = []): void {
  describeEngine('mongodb', 'with MongoDB as the read models', mongoDbMissing(), () => {
    describeEngine('rabbitmq', 'and RabbitMQ as the broker', rabbitMqMissing(), () => {
      const before = { ...process.env };
      let mongoDb: AnyMongoDb | undefined;
      beforeAll(async () => {
        const [readModels, rabbitMq] = await Promise.all([anyMongoDb(), anyRabbitMq()]);
        mongoDb = readModels;
        // The services look here.
        process.env.MONGODB_URL = mongoDb.freshUrl();
        process.env.RABBITMQ_URL = rabbitMq.url;
      }, ENGINE_START_MS);
      afterAll(async () => {
        process.env = before;
        await mongoDb?.dispose();
      });
      for (const file of [...new Set(folders.flatMap(testsOf))].filter((name) => !except.includes(name))) {
        // Loading the file registers its tests.
        describe(file, () => void require(join(ACCEPTANCE, file)));
      }
    });
  });
}

const testsOf = (part: string): readonly string[] =>
  part.endsWith('.test.ts')
    ? [part]
    : readdirSync(join(ACCEPTANCE, part))
        .filter((name) => name.endsWith('.test.ts'))
        .map((name) => `${part}/${name}`);
