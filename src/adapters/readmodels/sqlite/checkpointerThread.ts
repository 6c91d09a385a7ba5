/** The thread of `Checkpointer`. */
import { parentPort, workerData } from 'node:worker_threads';
import type { CheckpointerData, CheckpointerRequest } from './checkpointer.js';
import { openConnection } from './schema.js';

/** Below this many pages of 4 kB it does not pay: pages that change again soon are copied once. */
const LEAST_PAGES = 2_000;

const { file }: CheckpointerData = workerData;
const db = openConnection({ file, cacheMegabytes: 1, readOnly: false });
const progress = db.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)');

parentPort?.on('message', (request: CheckpointerRequest) => {
  if (request === 'close') {
    db.close();
    parentPort?.close();
    return;
  }
  const { log, checkpointed } = progress.get() ?? { log: 0, checkpointed: 0 };
  if (log - checkpointed > LEAST_PAGES) db.pragma('wal_checkpoint(PASSIVE)');
  parentPort?.postMessage('done');
});
