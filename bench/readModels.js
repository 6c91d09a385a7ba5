/**
 * Measures the embedded read models alone: inserts beside the same rows going straight into SQLite with the
 * same indexes, lists at 10,000 and 1,000,000 records, re-sync, clean-up, and memory.
 *
 *   node bench/readModels.js [records = 1000000]
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import { openSqliteReadModels } from '../dist/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '../dist/adapters/readmodels/sqlite/write/writer.js';
import { place } from './places.js';
import { openPlainTable } from './plainTable.js';
import { at, BATCH, defineTable, fill, ref } from './readModelFile.js';
import { listCases } from './readModelQueries.js';

const RECORDS = Number(process.argv[2] ?? 1_000_000);

const quantile = (values, q) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const show = (label, values, unit = 'ms') =>
  console.log(
    `${label.padEnd(64)} p50 ${quantile(values, 0.5).toFixed(2).padStart(8)} ${unit}   p99 ${quantile(values, 0.99).toFixed(2).padStart(8)} ${unit}`,
  );

const rate = (times) => Math.round((times.length * BATCH) / (times.reduce((a, b) => a + b, 0) / 1000));

/** The limit: the same rows and indexes in one plain table, written in the same batches. */
function fillPlain(file, count) {
  const table = openPlainTable(file);
  const times = [];
  for (let n = 0; n < count; n += BATCH) {
    times.push(table.insert(Array.from({ length: BATCH }, (_, i) => place(n + i))));
  }
  table.close();
  return times;
}

async function measureLists(readModels, writer, total) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  for (const [label, queries] of Object.entries(listCases(total))) {
    const times = [];
    let slowest = { ms: 0 };
    const rounds = Math.ceil(60 / queries.length);
    delay.enable();
    for (let round = 0; round < rounds; round++) {
      // Every change of the table makes the readers forget what they counted.
      await writer.begin();
      await writer.applyToTable(ref, [], { revision: total, at: at(0) });
      await writer.commit(new Map());
      for (const query of queries) {
        const start = performance.now();
        await readModels.list(ref, query);
        const ms = performance.now() - start;
        times.push(ms);
        if (ms > slowest.ms) slowest = { ms, query };
      }
    }
    delay.disable();
    show(label, times);
    if (process.env.SLOWEST && slowest.query) console.log('   ', slowest.ms.toFixed(1), JSON.stringify(slowest.query));
  }
  console.log(`event loop delay max ${(delay.max / 1e6).toFixed(1)} ms`);
}

async function measurePoints(readModels, ids, total) {
  const gets = [];
  for (let i = 0; i < 5000; i++) {
    const start = performance.now();
    await readModels.get(ref, ids[(i * 7919) % total]);
    gets.push((performance.now() - start) * 1000);
  }
  show('get', gets, 'µs');
  const snapshots = [];
  for (let i = 0; i < 30; i++) {
    const keys = Array.from({ length: 1000 }, (_, k) => place((i * 1000 + k) % total).external_id);
    const start = performance.now();
    await readModels.snapshot(ref, { keys, ids: [] });
    snapshots.push(performance.now() - start);
  }
  show('snapshot of 1000 keys that are there', snapshots);
  const missing = [];
  for (let i = 0; i < 30; i++) {
    const keys = Array.from({ length: 1000 }, (_, k) => `NEW-${i}-${k}`);
    const start = performance.now();
    await readModels.snapshot(ref, { keys, ids: [] });
    missing.push(performance.now() - start);
  }
  show('snapshot of 1000 keys that are not', missing);
}

async function measureSeen(writer, ids, batchId, count) {
  const times = [];
  for (let n = 0; n < count; n += BATCH) {
    const start = performance.now();
    await writer.begin();
    await writer.applyToTable(ref, [{ kind: 'seen', ids: ids.slice(n, n + BATCH), batchId }], {
      revision: n,
      at: at(n),
    });
    await writer.commit(new Map());
    times.push(performance.now() - start);
  }
  return times;
}

/** Deletes half of 200,000 records while lists go on. */
async function measureSweep(directory) {
  const file = join(directory, 'sweep.db');
  const writer = await openSqliteReadModelWriter({ file });
  await defineTable(writer);
  const ids = [];
  await fill(writer, 0, 200_000, ids);
  await measureSeen(
    writer,
    ids.filter((_, n) => n % 2 === 0),
    'second',
    100_000,
  );
  const start = performance.now();
  await writer.begin();
  await writer.applyToTable(ref, [{ kind: 'sweep', batchId: 'second' }], { revision: 1, at: at(1) });
  await writer.commit(new Map());
  console.log(`clean-up of 100,000 of 200,000: ${(performance.now() - start).toFixed(0)} ms`);
  await writer.close();
}

const directory = await mkdtemp(join(tmpdir(), 'read-models-bench-'));
try {
  if (!process.env.SKIP_PLAIN) {
    const plain = fillPlain(join(directory, 'plain.db'), RECORDS);
    console.log(
      `straight into SQLite: first 10,000 ${rate(plain.slice(0, 10))} rows/s, last 100,000 ${rate(plain.slice(-100))}, all ${rate(plain)}`,
    );
    show('  batch of 1000, the last 100', plain.slice(-100));
    await rm(join(directory, 'plain.db'));
  }
  const file = join(directory, 'readmodels.db');
  const writer = await openSqliteReadModelWriter({ file });
  await defineTable(writer);
  const readModels = await openSqliteReadModels({ file });
  const ids = [];
  let times = [];
  for (const count of [10_000, RECORDS]) {
    times = [...times, ...(await fill(writer, ids.length, count, ids))];
    console.log(
      `\n== ${count} records; the last 10 % at ${rate(times.slice(-Math.max(10, times.length / 10)))} rows/s, all at ${rate(times)}`,
    );
    show('  batch of 1000 inserts, the last', times.slice(-100));
    show('  batch of 1000 seen again', await measureSeen(writer, ids, `seen-${count}`, 10_000));
    await measureLists(readModels, writer, count);
    await measurePoints(readModels, ids, count);
  }
  console.log(
    `resident ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MB, of which heap ${(process.memoryUsage().heapUsed / 2 ** 20).toFixed(0)}; file ${((await stat(file)).size / 2 ** 20).toFixed(0)} MB, log ${((await stat(`${file}-wal`)).size / 2 ** 20).toFixed(0)} MB`,
  );
  await readModels.close();
  await writer.close();
  if (!process.env.SKIP_SWEEP) await measureSweep(directory);
} finally {
  await rm(directory, { recursive: true });
}
