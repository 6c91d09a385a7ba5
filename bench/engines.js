/** The service on production engines, each figure beside what the engine's bare driver does with the same data in the same run. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { WebhookReceiver } from '../examples/demo/receiver.js';
import { approvalTimes } from './engines/approvals.js';
import { measureClusterFaults } from './engines/clusterFaults.js';
import { measureEventLogs } from './engines/eventLogs.js';
import { isNamed, LOG_NAME, logUnderTest } from './engines/logUnderTest.js';
import { dropDatabase, ownPlaces } from './engines/ownPlaces.js';
import { rawHandOver } from './engines/rawBroker.js';
import { rawRates } from './engines/rawReadModels.js';
import { atMost, note, quantile, share } from './figures.js';
import { place } from './places.js';
import { startService } from './service.js';

const BATCHES = 20;
const BATCH = 1000;
const WRITERS = 2;
const ORDERS = 60;
const ASSETS = '/api/v1/dynamic-assets/dyn';

export async function measureEngines(directory) {
  const places = ownPlaces(process.env);
  const { MONGODB_URL, RABBITMQ_URL } = places;
  note(
    'event log of the rows below',
    isNamed ? `${LOG_NAME}, named by EVENTSTORE_URL` : `${LOG_NAME}: no server is named`,
  );
  note(
    'read models',
    MONGODB_URL === undefined ? 'embedded' : 'MongoDB, or what speaks its protocol, where it says so',
  );
  note('broker', RABBITMQ_URL === undefined ? 'embedded' : 'RabbitMQ, where it says so');
  await measureEventLogs(directory);
  // They end nodes, and elect.
  if (isNamed) note('faults of a cluster', 'measured on doubles only, where EVENTSTORE_URL is unset');
  else await measureClusterFaults(directory);
  const log = isNamed ? await logUnderTest(0) : undefined;
  note('event log of the rows below', isNamed ? LOG_NAME : 'embedded');
  const receiver = await WebhookReceiver.start();
  const caFile = join(directory, 'ca.pem');
  await writeFile(caFile, receiver.certificate);
  const settings = {
    ...log?.settings,
    MONGODB_URL: '',
    RABBITMQ_URL: '',
    ...places,
    WEBHOOK_CA_FILE: caFile,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    // A server without indexes takes its time.
    REQUEST_TIMEOUT_MS: '60000',
  };
  const service = await startService(join(directory, 'data'), settings, log?.tenant);
  try {
    await measureBatches(service, MONGODB_URL);
    await measureDelivery(service, receiver, RABBITMQ_URL);
  } finally {
    await service.stop();
    await receiver.stop();
    if (MONGODB_URL !== undefined) await dropDatabase(MONGODB_URL);
  }
}

/** Batch upserts and a rebuild of the same table, beside what the bare driver does with the very documents and indexes. */
async function measureBatches({ client, cli, tenant }, mongoUrl) {
  const bodies = Array.from({ length: BATCHES }, (_, n) =>
    JSON.stringify({
      items: Array.from({ length: BATCH }, (_, i) => ({ ...place(n * BATCH + i), _batch_id: 'first' })),
    }),
  );
  const start = performance.now();
  const queue = [...bodies];
  const writer = async () => {
    for (let body = queue.shift(); body !== undefined; body = queue.shift()) {
      await client.ok('POST', `${ASSETS}/dyn_location/assets/batch`, body);
    }
  };
  await Promise.all(Array.from({ length: WRITERS }, writer));
  const upserts = (BATCHES * BATCH * 1000) / (performance.now() - start);
  const rebuilt = performance.now();
  await cli('projections', 'rebuild', '--tenant', tenant);
  const rebuilds = (BATCHES * BATCH * 1000) / (performance.now() - rebuilt);
  if (mongoUrl === undefined) {
    note('batch upsert of new items', `${Math.round(upserts)} items/s`);
    note('rebuild', `${Math.round(rebuilds)} records/s`);
    return;
  }
  const raw = await rawRates(mongoUrl, BATCHES * BATCH, BATCH);
  share('batch upsert of new items, beside bare look-up and insert', upserts, raw.upserts, 0.5, 'items/s');
  share('rebuild, beside bare inserts', rebuilds, raw.inserts, 0.5, 'records/s');
}

/** From the call that approves to the arrival at the receiver, at an idle system. */
async function measureDelivery(service, receiver, rabbitUrl) {
  const times = await approvalTimes(service, receiver, ORDERS);
  const ours = quantile(times, 0.5);
  if (rabbitUrl === undefined) {
    note('approval to arrival', `p50 ${ours.toFixed(1)} ms`);
    return;
  }
  const raw = quantile(await rawHandOver(rabbitUrl, receiver, ORDERS), 0.5);
  note('approval to arrival', `p50 ${ours.toFixed(1)} ms; bare publish, consume and post ${raw.toFixed(1)} ms`);
  atMost('approval to arrival, beside the bare hand-over', ours / raw, 2, 'times');
}
