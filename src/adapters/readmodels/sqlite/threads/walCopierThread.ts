/** The thread of `WalCopier`. */
import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from '../connections.js';
import { copyWal, type WalCopied, type WalCopierData, type WalCopierRequest } from './walCopier.js';

/** Fewer pages of 4 kB wait for more, so that a page that changes again soon is copied once. */
const MIN_PAGES = 1_000;

const { file }: WalCopierData = workerData;
const db = openConnection({ file, cacheMegabytes: 1, readOnly: false });
const progress = db.prepare<[], { log: number; checkpointed: number }>('PRAGMA wal_checkpoint(NOOP)');

parentPort?.on('message', (request: WalCopierRequest) => {
  if (request === 'close') {
    db.close();
    parentPort?.close();
    return;
  }
  const { log, checkpointed } = progress.get() ?? { log: 0, checkpointed: 0 };
  if (log - checkpointed > MIN_PAGES) copyWal(db);
  parentPort?.postMessage({ pages: log } satisfies WalCopied);
});
