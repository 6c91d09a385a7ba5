/** The log as the commands of `audit` read it: as stored, beside a running service or without one. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { CheckpointKeys } from '../audit/checkpointKeys.js';
import { type CheckpointPlaces, ContradictionError, makeCheckpoint } from '../audit/checkpoints.js';
import { catchUp, type LogTree } from '../audit/logTree.js';
import { type Config, readConfig } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { prepareDataDirectory } from '../service/dataDirectory.js';
import { openStoredLog } from '../service/engines.js';
import { CliError } from './errors.js';
import { withProgressBar } from './output.js';

/** Runs `work` with the log as stored, which must be there. */
export async function withLog<T>(work: (log: EventStore, config: Config) => Promise<T>): Promise<T> {
  const config = readConfig(process.env);
  const file = join(config.DATA_DIR, 'events.db');
  if (config.EVENTSTORE_URL === undefined && !existsSync(file)) throw new CliError(`There is no ${file}.`);
  await prepareDataDirectory(config);
  const log = await openStoredLog(config);
  try {
    return await work(log, config);
  } finally {
    await log.close();
  }
}

/** Signs the log as it is now. @returns the note. @throws ContradictionError */
export const signNow = (
  log: EventStore,
  tree: LogTree,
  keys: CheckpointKeys,
  places: CheckpointPlaces,
): Promise<string> =>
  withProgressBar('{bar} {percentage}%', async (onProgress) => {
    await catchUp(log, tree, onProgress);
    return makeCheckpoint(tree, keys, places).catch(async (error: unknown) => {
      if (!(error instanceof ContradictionError)) throw error;
      // The service may have signed a longer log meanwhile.
      await catchUp(log, tree);
      return makeCheckpoint(tree, keys, places);
    });
  });
