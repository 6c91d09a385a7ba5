/**
 * What lists cost where nothing is in memory: how many pages of the file each query reads, which no neighbour on the machine
 * changes, and its time with the file's pages dropped from the system's cache.
 *
 *   node bench/coldLists.js [records = 1000000] [directory, kept: filled where it holds no file yet]
 *
 * A page is counted as often as SQLite asks the system for it. Each query has a connection of its own, whose cache holds the
 * schema and nothing else; the file is whole (its log is copied) and nobody writes. Rankings are in memory, as some seconds
 * after lists have needed them; with RANKINGS=0 none are. EACH=1 shows each query, ONLY=text some.
 */
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { COSTS } from '../dist/adapters/readmodels/sqlite/query/costs.js';
import { Lister } from '../dist/adapters/readmodels/sqlite/query/lister.js';
import { makeRanking, Rankings } from '../dist/adapters/readmodels/sqlite/ranking/ranking.js';
import { ReadConnection } from '../dist/adapters/readmodels/sqlite/read/readConnection.js';
import { openSqliteReadModelWriter } from '../dist/adapters/readmodels/sqlite/write/writer.js';
import { quantile } from './figures.js';
import { dropPages } from './pageCache.js';
import { defineTable, fill, ref } from './readModelFile.js';
import { listCases } from './readModelQueries.js';

const RECORDS = Number(process.argv[2] ?? 1_000_000);
const ROUNDS = 3;
/** As SQLite makes a file. */
const PAGE_BYTES = 4096;
/** As a thread that answers has it. */
const CACHE_MEGABYTES = 16;

async function fillFile(file) {
  const writer = await openSqliteReadModelWriter({ file });
  await defineTable(writer);
  await fill(writer, 0, RECORDS, []);
  // As a service leaves it some seconds later: the first look only sees how large the indexes are.
  for (let look = 0; look < 2; look++) while (await writer.mergeIndexes());
  await writer.close();
}

/** Bytes that this process asked the system for, and that came from the disk. */
function bytesRead() {
  const figure = (name) =>
    Number(new RegExp(`^${name}: (\\d+)$`, 'm').exec(readFileSync('/proc/self/io', 'utf8'))?.[1]);
  return { asked: figure('rchar'), fromDisk: figure('read_bytes') };
}

/** What to look at the figures itself asks for. */
const ownBytes = (() => {
  const before = bytesRead().asked;
  return bytesRead().asked - before;
})();

/** All that these lists would go by. */
function makeRankings(file, cases) {
  const connection = new ReadConnection({ file, cacheMegabytes: CACHE_MEGABYTES });
  const wanted = new Map();
  const rankings = new Rankings((name) => wanted.set(name.column, name));
  // Whatever a list takes, it is slow.
  const lister = new Lister(connection, { ...COSTS, slowMs: 0 }, rankings);
  for (const query of cases.flatMap(([, queries]) => queries)) lister.list(ref, query);
  for (const name of wanted.values()) {
    const start = performance.now();
    rankings.keep(makeRanking(connection, name, { mostRows: RECORDS, onPiece: () => undefined }));
    console.log(`ranking by ${name.column}: ${(performance.now() - start).toFixed(0)} ms`);
  }
  connection.close();
  return rankings;
}

/** One list by a connection that has read nothing but the schema, and once more with what it read in memory. */
function measure(file, query, rankings) {
  const connection = new ReadConnection({ file, cacheMegabytes: CACHE_MEGABYTES });
  try {
    connection.read(ref, undefined, () => undefined);
    const dropped = dropPages(file);
    const before = bytesRead();
    const start = performance.now();
    new Lister(connection, COSTS, rankings).list(ref, query);
    const ms = performance.now() - start;
    const after = bytesRead();
    const again = performance.now();
    new Lister(connection, COSTS, rankings).list(ref, query);
    return {
      dropped,
      ms,
      msAgain: performance.now() - again,
      pages: Math.round((after.asked - before.asked - ownBytes) / PAGE_BYTES),
      diskPages: Math.round((after.fromDisk - before.fromDisk) / PAGE_BYTES),
    };
  } finally {
    connection.close();
  }
}

function show(label, runs) {
  const spread = (key, digits) => {
    const values = runs.map((run) => run[key]);
    return [0.5, 0.99].map((q) => quantile(values, q).toFixed(digits).padStart(8)).join(' ');
  };
  console.log(
    `${label.padEnd(52)} ${spread('pages', 0)} ${spread('diskPages', 0)} ${spread('ms', 1)} ${spread('msAgain', 1)}`,
  );
}

const given = process.argv[3];
const directory = given ?? (await mkdtemp(join(tmpdir(), 'cold-lists-bench-')));
try {
  await mkdir(directory, { recursive: true });
  const file = join(directory, 'readmodels.db');
  if (!existsSync(file)) await fillFile(file);
  console.log(`${RECORDS} records, ${((await stat(file)).size / 2 ** 20).toFixed(0)} MB`);
  console.log(`${''.padEnd(52)}    pages asked for     from the disk      milliseconds   once more, in memory`);
  console.log(`${''.padEnd(52)} ${'     p50      p99 '.repeat(4)}`);
  const cases = Object.entries(listCases(RECORDS)).filter(([label]) => label.includes(process.env.ONLY ?? ''));
  for (const [, [query]] of cases) measure(file, query);
  const rankings = process.env.RANKINGS === '0' ? undefined : makeRankings(file, cases);
  let dropped = true;
  for (const [label, queries] of cases) {
    const runs = queries.map((query) => {
      const rounds = Array.from({ length: ROUNDS }, () => measure(file, query, rankings));
      if (process.env.EACH)
        show(
          `  ${JSON.stringify([query.filters.map(({ field, anyOf }) => [field, anyOf]), query.sort.map((t) => `${t.direction} ${t.field}`), query.offset])}`,
          rounds,
        );
      return rounds;
    });
    dropped &&= runs.flat().every((run) => run.dropped);
    show(label, runs.flat());
  }
  if (!dropped)
    console.log(
      'The system has no way here to drop pages: the times are with the file in memory. The pages asked for are right.',
    );
} finally {
  if (given === undefined) await rm(directory, { recursive: true });
}
