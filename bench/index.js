/**
 * The service measured over HTTP, embedded, in one process: each figure beside its limit measured in the same run.
 *
 *   npm run bench                      1,000,000 records, about ten minutes
 *   npm run bench -- --records 100000  the same with fewer
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { measureBatches } from './batches.js';
import { measureCleanUp } from './cleanUp.js';
import { atMost, note, summary } from './figures.js';
import { measureGet } from './get.js';
import { measureLists } from './lists.js';
import { startService } from './service.js';

const { values } = parseArgs({ options: { records: { type: 'string', default: '1000000' } } });
const records = Number(values.records);

const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-bench-'));
const service = await startService(join(directory, 'data'));
try {
  await measureBatches(service, directory, records);
  await measureGet(service);
  await measureLists(service, records);
  atMost(`memory of the service at ${records} records`, await service.residentMb(), 400, 'MB');
  await measureCleanUp(service);
  note('memory of the service at the end', `${(await service.residentMb()).toFixed(0)} MB`);
} finally {
  await service.stop();
  await rm(directory, { recursive: true, force: true });
}
process.exitCode = summary() ? 0 : 1;
