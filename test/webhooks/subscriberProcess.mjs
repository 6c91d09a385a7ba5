// A separate process for the crash tests: relay and subscriber on the given data directory.
import { join } from 'node:path';
import { pino } from 'pino';
import { openSqliteBroker } from '#app/adapters/broker/sqlite/broker.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqliteReadModels } from '#app/adapters/readmodels/sqlite/store.js';
import { openApplication } from '#app/commands/application.js';
import { newId, now } from '#app/commands/clock.js';
import { Directory } from '#app/directory/directory.js';
import { createSecretBox } from '#app/service/secretBox.js';
import { createHttpsTransport } from '#app/webhooks/httpsTransport.js';
import { startWebhooks } from '#app/webhooks/runWebhooks.js';
import { addressPolicy } from '#app/webhooks/targetAddress.js';

const { directory, caPem, leaseMs, backoffMs, secretKey } = JSON.parse(process.argv[2]);
const eventStore = await openSqliteEventStore({ file: join(directory, 'events.db') });
const readModels = await openSqliteReadModels({ file: join(directory, 'readmodels.db'), readers: 1 });
const secretBox = createSecretBox(Buffer.from(secretKey, 'hex'));
const tenants = await Directory.start(eventStore, () => {});
startWebhooks({
  commands: openApplication({ eventStore, readModels, directory: tenants, secretBox, now, newId }),
  broker: await openSqliteBroker({ file: join(directory, 'broker.db'), leaseMs, pollMs: 20 }),
  transport: createHttpsTransport({ policy: addressPolicy(['127.0.0.0/8']), caPem }),
  settings: {
    concurrency: 50,
    endpointConcurrency: 20,
    disableAfterHours: 0,
    backoffMs,
    version: '0',
    attemptLimitMs: 0,
  },
  logger: pino({ level: 'error' }, process.stderr),
});
