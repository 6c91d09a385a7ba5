/**
 * The service measured over HTTP, embedded, in one process: each figure beside its limit measured in the same run.
 *
 *   npm run bench                      1,000,000 records, about ten minutes
 *   npm run bench -- --records 100000  the same with fewer
 *   npm run bench -- --deliveries      webhook deliveries, about a minute, on the engines that are named as below
 *   npm run bench -- --isolation       creates of some tenants while another one synchronises 1,000,000 records or --records; three minutes
 *   npm run bench -- --crowds          what one tenant can make the others wait, a minute or two
 *   npm run bench -- --console         the console in Chromium on a table of 1,000,000 records or --records: pages, sorts, searches, and the
 *                                      import of a file; some five minutes
 *   npm run bench -- --engines         on the engines that EVENTSTORE_URL, MONGODB_URL and RABBITMQ_URL name
 *   npm run bench -- --peers           beside PocketBase, Directus and Parse Server, which it installs, at 1,000,000 records or
 *                                      --records, about half an hour; writes bench/RESULTS.md
 *   npm run bench -- --peers --records 10000 --only pocketbase     the same with one size, and only this peer
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureBatches } from './batches.js';
import { measureBeside } from './beside.js';
import { measureCleanUp } from './cleanUp.js';
import { measureConsole } from './console.js';
import { measureApprove, measureCreate, measureUpdate } from './create.js';
import { measureCrowds } from './crowd/index.js';
import { measureDeliveries } from './deliveries.js';
import { measureEngines } from './engines.js';
import { atMost, note, summary } from './figures.js';
import { measureGet } from './get.js';
import { measureIsolation } from './isolation/index.js';
import { measureLists } from './lists.js';
import { measureOrders } from './orders.js';
import { measurePeers } from './peers/index.js';
import { startService } from './service.js';

const { values } = parseArgs({
  options: {
    records: { type: 'string' },
    deliveries: { type: 'boolean', default: false },
    isolation: { type: 'boolean', default: false },
    crowds: { type: 'boolean', default: false },
    console: { type: 'boolean', default: false },
    engines: { type: 'boolean', default: false },
    peers: { type: 'boolean', default: false },
    only: { type: 'string' },
  },
});
const sizes = values.records?.split(',').map(Number);
const [records] = sizes ?? [1_000_000];

/** The embedded default, in depth. */
async function measureEmbedded(directory) {
  const none = { EVENTSTORE_URL: '', MONGODB_URL: '', RABBITMQ_URL: '' };
  const service = await startService(join(directory, 'data'), none);
  try {
    await measureBatches(service, directory, records);
    await measureCreate(service);
    await measureUpdate(service);
    await measureApprove(service);
    await measureOrders(service);
    await measureBeside(service);
    await measureGet(service);
    await measureLists(service, records, join(directory, 'data'));
    atMost(`memory of the service at ${records} records`, await service.residentMb(), 400, 'MB');
    await measureCleanUp(service);
    note('memory of the service at the end', `${(await service.residentMb()).toFixed(0)} MB`);
  } finally {
    await service.stop();
  }
}

const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-bench-'));
try {
  if (values.isolation) await measureIsolation(directory, records);
  else if (values.crowds) await measureCrowds(directory);
  else if (values.console) await measureConsole(join(directory, 'console'), records);
  else if (values.engines) await measureEngines(directory);
  else if (values.peers) await measurePeers(directory, sizes ?? [records], values.only?.split(','));
  else if (values.deliveries) await measureDeliveries(directory);
  else await measureEmbedded(directory);
} finally {
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = summary() ? 0 : 1;
