/** Batch upserts of 1000 items over HTTP, beside the same rows going straight into SQLite. */
import { join } from 'node:path';
import { atMost, note, quantile, share } from './figures.js';
import { place } from './places.js';
import { openPlainTable } from './plainTable.js';

const BATCH = 1000;
const SMALL = 10_000;
/** The two are measured by turns, so that both see the machine at the same hour. */
const TURN = 50;
const WRITERS = 2;
const PATH = '/api/v1/dynamic-assets/dyn/dyn_location/assets/batch';

const batchOf = (from) => Array.from({ length: BATCH }, (_, i) => place(from + i));
const bodyOf = (items, batchId) => JSON.stringify({ items: items.map((item) => ({ ...item, _batch_id: batchId })) });

/** Sends prepared bodies by so many writers at once. @returns milliseconds of each, and of all */
async function sendAll(client, bodies, writers = WRITERS) {
  const times = [];
  const queue = [...bodies];
  const start = performance.now();
  const writer = async () => {
    for (let body = queue.shift(); body !== undefined; body = queue.shift()) {
      const begun = performance.now();
      await client.ok('POST', PATH, body);
      times.push(performance.now() - begun);
    }
  };
  await Promise.all(Array.from({ length: writers }, writer));
  return { times, ms: performance.now() - start };
}

const numbers = (from, count) => Array.from({ length: count }, (_, i) => from + i * BATCH);

export async function measureBatches({ client }, directory, records) {
  const plain = openPlainTable(join(directory, 'plain.db'));
  const small = await sendAll(
    client,
    numbers(0, SMALL / BATCH).map((from) => bodyOf(batchOf(from), 'first')),
    1,
  );
  for (const from of numbers(0, SMALL / BATCH)) plain.insert(batchOf(from));
  const total = { http: 0, plain: 0 };
  for (let from = SMALL; from < records; from += TURN * BATCH) {
    const starts = numbers(from, Math.min(TURN, (records - from) / BATCH));
    const bodies = starts.map((start) => bodyOf(batchOf(start), 'first'));
    total.http += (await sendAll(client, bodies)).ms;
    for (const start of starts) total.plain += plain.insert(batchOf(start));
    process.stderr.write(`\r${from + starts.length * BATCH} records`);
  }
  process.stderr.write('\r');
  plain.close();
  const rows = records - SMALL;
  share('batch upsert of new items', (rows / total.http) * 1000, (rows / total.plain) * 1000, 0.5, 'items/s');

  const again = numbers(0, 100).map((from) => batchOf(from));
  const fresh = await sendAll(
    client,
    numbers(records, 20).map((from) => bodyOf(batchOf(from), 'first')),
    1,
  );
  const resync = await sendAll(
    client,
    again.map((items) => bodyOf(items, 'second')),
  );
  const newRate = (rows / total.http) * 1000;
  share(
    'unchanged re-sync, beside the rate of new items',
    ((again.length * BATCH) / resync.ms) * 1000,
    newRate,
    2,
    'items/s',
  );
  const cost = quantile(fresh.times, 0.5) / quantile(small.times.slice(3), 0.5);
  note(
    'a batch of 1000 new items, one writer',
    `${quantile(small.times.slice(3), 0.5).toFixed(0)} ms at ${SMALL}, ${quantile(fresh.times, 0.5).toFixed(0)} ms at ${records}`,
  );
  atMost(`cost of a batch at ${records}, beside that at ${SMALL}`, cost, 2, 'times');
}
