/** What commands use: the ports, and what one process keeps in memory for them. All of it may be lost at any time. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import { FairQueue } from '../supervision/fairQueue.js';
import type { Caller, Commands } from './context.js';
import type { DirectoryChanges } from './identity/directoryWriter.js';
import type { RecordChanges } from './referenceTables/tableWriter.js';

export type Application = Commands & {
  readonly streamChanges: FairQueue;
  readonly recordChanges: RecordChanges;
  readonly directoryChanges: DirectoryChanges;
};

/** What is written to a table, and by whom. */
export type TableWrite = { readonly commands: Application; readonly caller: Caller; readonly assetType: AssetType };

/** `dryRun`: writes nothing. `key`: see `once`. */
export type WriteOptions = { readonly dryRun?: boolean; readonly key?: string | undefined };

export const openApplication = (ports: Commands): Application => {
  const unlimited = Number.POSITIVE_INFINITY;
  // Requests of a tenant are limited already, so the queue needs no limit.
  const streamChanges = new FairQueue({ atOnce: unlimited, ofGroup: 1, waitingOfGroup: unlimited });
  return { ...ports, streamChanges, recordChanges: new Map(), directoryChanges: new Map() };
};
