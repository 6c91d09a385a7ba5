/** The log as the commands of `audit` read it, as stored, and the tree over it. */
import { type CheckpointKeys, openCheckpointKeys } from '../audit/checkpointKeys.js';
import { ContradictionError, makeCheckpoint } from '../audit/checkpoints.js';
import { catchUp, type LogTree } from '../audit/logTree.js';
import { type Config, readConfig } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import type { LeafIndex } from '../ports/leafIndex.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openStoredLog } from '../service/engines.js';
import { keyDirectory, openTree, treeDirectory } from '../service/treeFiles.js';
import { refuseMissingLog } from './operator.js';
import { withProgressBar } from './terminal.js';

/** Runs `work` with the log as stored, which must be there. */
export async function withStoredLog<T>(work: (log: EventStore, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  refuseMissingLog(config);
  await prepareDataDirectory(config);
  const log = await openStoredLog(config);
  try {
    return await work(log, config);
  } finally {
    await log.close();
  }
}

export type OpenTree = {
  readonly log: EventStore;
  readonly tree: LogTree;
  readonly index: LeafIndex;
  readonly keys: CheckpointKeys;
  readonly directory: string;
  /** Signs the log as it is now. @returns the note. @throws ContradictionError */
  readonly sign: () => Promise<string>;
};

export const withTree = <T>(work: (opened: OpenTree) => Promise<T>): Promise<T> =>
  withStoredLog(async (log, config) => {
    const directory = treeDirectory(config);
    const keys = await openCheckpointKeys(keyDirectory(config));
    const { tree, index } = await openTree(log, directory);
    const signed = () => makeCheckpoint(tree, keys, { directory, published: config.CHECKPOINT_DIR });
    const sign = async (): Promise<string> => {
      await withProgressBar('{bar} {percentage}%', (onProgress) => catchUp(log, tree, onProgress));
      return signed().catch(async (error: unknown) => {
        if (!(error instanceof ContradictionError)) throw error;
        // The service may have signed a longer log meanwhile.
        await catchUp(log, tree);
        return signed();
      });
    };
    try {
      return await work({ log, tree, index, keys, directory, sign });
    } finally {
      index.close();
    }
  });
