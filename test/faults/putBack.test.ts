/** A log that is put back to an older copy: the embedded engines; in the project `repeated`, the production engines. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { DoubleRecord } from '../engines/doubleLog.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { anyMongoDb, ENGINE_START_MS } from '../engines/mongodb.js';
import { describeProductionEngines } from '../engines/productionEngines.js';
import { anyRabbitMq } from '../engines/rabbitmq.js';
import { isRepetition } from '../onProductionEngines/repetition.js';
import { describePutBack, type PutBackEngines } from './putBack.js';

const newDirectory = (): Promise<string> => mkdtemp(join(tmpdir(), 'put-back-'));

async function embedded(): Promise<PutBackEngines> {
  const dataDir = await newDirectory();
  const [log, backup] = [join(dataDir, 'events.db'), join(dataDir, 'backup')];
  return {
    dataDir,
    env: { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' },
    backUp: () => copyFile(log, backup),
    async putBack() {
      for (const name of ['events.db-wal', 'events.db-shm']) await rm(join(dataDir, name), { force: true });
      await copyFile(backup, log);
    },
    dispose: async () => undefined,
  };
}

async function onServers(): Promise<PutBackEngines> {
  const eventStore = await EventStoreDouble.start();
  const [mongoDb, rabbitMq] = await Promise.all([anyMongoDb(), anyRabbitMq()]);
  let backup: readonly DoubleRecord[] = [];
  return {
    dataDir: await newDirectory(),
    env: {
      EVENTSTORE_URL: eventStore.url,
      MONGODB_URL: mongoDb.freshUrl(),
      RABBITMQ_URL: rabbitMq.freshUrl(),
    },
    async backUp() {
      backup = eventStore.log.backup();
    },
    async putBack() {
      await eventStore.kill();
      eventStore.log.restore(backup);
      await eventStore.start();
    },
    async dispose() {
      await eventStore.dispose();
      await mongoDb.dispose();
    },
  };
}

if (isRepetition) {
  describeProductionEngines(() =>
    describePutBack('a double of EventStoreDB, MongoDB and RabbitMQ', onServers, {
      startMs: ENGINE_START_MS,
      isServer: true,
    }),
  );
} else describePutBack('embedded', embedded, { startMs: 60_000, isServer: false });
