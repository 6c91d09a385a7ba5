/** The thread that makes one ranking. It gives way to all other threads. */
import { parentPort, workerData } from 'node:worker_threads';
import { giveWay } from '../../../../supervision/threads.js';
import { ReadConnection } from '../read/readConnection.js';
import { makeRanking } from './ranking.js';
import type { RankingThreadData } from './rankingMaker.js';

const { file, mostRows, name, closing }: RankingThreadData = workerData;

/** In the meantime SQLite cannot start its write-ahead log again. */
const MOST_MS = 10_000;
const startedAt = performance.now();

/** @throws Error when the thread must end */
function goOn(): void {
  if (Atomics.load(closing, 0) === 1) throw new Error('The read models are being closed.');
  if (performance.now() - startedAt > MOST_MS) throw new Error('It takes too long.');
}

giveWay();
const connection = new ReadConnection({ file, cacheMegabytes: 1 });
try {
  parentPort?.postMessage(makeRanking(connection, name, { mostRows, onPiece: goOn }));
} finally {
  connection.close();
}
