/** What a request costs, by the number of records in the table that it is about. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { quantile } from '../figures.js';
import { diskMb, memoryMb } from '../peers/processes.js';
import { CREATES, createNext, reads } from '../peers/rows.js';
import { thisService } from '../peers/thisService.js';
import { turn } from '../peers/turn.js';
import { place } from '../places.js';
import { add } from './index.js';

const SIZES = [10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000];
const BATCH = 1000;
const TURN_MS = 500;
const WARM_UP_MS = 300;
/** Whose numbers no other place has; the clean-up deletes them. */
const FIRST_GONE = 20_000_000;
/** Batches of which the time of one is told. */
const TIMED = 10;
const CLEAN_UPS = 4;

const batch = (from) => Array.from({ length: BATCH }, (_, i) => place(from + i));
const half = ({ times }) => quantile(times, 0.5);

/** @returns by title: unit, and points of size and cost */
export async function costsByRecords(directory, most) {
  const own = join(directory, 'records');
  await mkdir(own);
  const service = await thisService.start(own);
  const costs = new Map();
  try {
    let records = 0;
    for (const size of SIZES.filter((each) => each <= most)) {
      await measureAt(service, costs, records, size);
      records = size;
    }
  } finally {
    await service.stop();
  }
  return costs;
}

async function measureAt(service, costs, from, size) {
  const numbers = Array.from({ length: (size - from) / BATCH }, (_, i) => from + i * BATCH);
  const fill = { work: numbers.map((number) => (to) => to.addBatch(batch(number), 'kept')) };
  const filled = await turn(service, fill, 0);
  process.stderr.write(`\r${size} records `);
  const ids = new Map([[service, await service.ids()]]);
  const rows = reads(size, ids);
  if (from === 0) for (const row of rows) await turn(service, row, 0, TURN_MS);
  for (const row of rows) {
    await turn(service, row, 0, WARM_UP_MS);
    // What was counted before counts no more.
    await createNext(service);
    add(costs, row.name, 'ms', size, half(await turn(service, row, 0.5, TURN_MS)));
  }
  add(costs, CREATES[0].name, 'ms', size, half(await turn(service, CREATES[0], 0)));
  add(costs, 'batch of 1000 new', 'ms', size, quantile(filled.times.slice(-TIMED), 0.5));
  const again = { work: numbers.slice(0, TIMED).map((number) => (to) => to.repeatBatch(batch(number), 'kept-too')) };
  const back = { work: numbers.slice(0, TIMED).map((number) => (to) => to.repeatBatch(batch(number), 'kept')) };
  await turn(service, again, 0);
  add(costs, 'batch of 1000 unchanged', 'ms', size, half(await turn(service, back, 0)));
  add(costs, 'memory', 'MB', size, await memoryMb(service.pids));
  add(costs, 'disk for 1000 records', 'MB', size, (await diskMb(service.data)) / (size / 1000));
  const cleaned = [];
  for (let i = 0; i < CLEAN_UPS; i++) {
    await service.addBatch(batch(FIRST_GONE), 'gone');
    cleaned.push((await turn(service, { work: [(to) => to.cleanUp('kept')] }, 0)).ms);
  }
  // The first one has what was created above as well.
  add(costs, 'clean-up of 1000', 'ms', size, quantile(cleaned.slice(1), 0.5));
}
