/** The thread of `RankingMaker`: it gives way to all others. */
import { parentPort, workerData } from 'node:worker_threads';
import { giveWay } from '../../../supervision/threadPriority.js';
import { makeRanking } from './makeRanking.js';
import type { RankingReply, RankingRequest, RankingThreadData } from './rankingMaker.js';
import { ReadConnection } from './readConnection.js';

const { file, mostRows, closing }: RankingThreadData = workerData;
const isWanted = (): boolean => Atomics.load(closing, 0) === 0;
const connection = new ReadConnection({ file, cacheMegabytes: 1, isWanted });
giveWay();

parentPort?.on('message', (request: RankingRequest) => {
  if (request.kind === 'close') {
    connection.close();
    parentPort?.close();
    return;
  }
  const startedAt = performance.now();
  const made = tried(() => makeRanking(connection, request.name, { mostRows, onPiece: goOn }));
  const reply: RankingReply = { ...(made === undefined ? {} : { made }), ms: performance.now() - startedAt };
  parentPort?.postMessage(reply);
});

/** @throws Error when it is to close */
function goOn(): void {
  if (!isWanted()) throw new Error('The read models are being closed.');
}

/** Without a ranking lists are only slower: whatever is wrong with the file, who reads or verifies it is told. */
function tried<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
