/** Where the tree over the log is, and the keys that sign it. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openLeafIndex } from '../adapters/leafIndex.js';
import { LogTree, type TreeLog } from '../audit/logTree.js';
import type { Config } from '../config.js';
import type { LeafIndex } from '../ports/leafIndex.js';
import { AUDIT, KEYS } from './dataDirectory.js';

export const treeDirectory = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, AUDIT);
export const keyDirectory = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, KEYS);

/** Opens the tree in its directory, which is made if it is missing. The caller closes the index. @throws what the log throws */
export async function openTree(
  log: TreeLog,
  directory: string,
): Promise<{ readonly tree: LogTree; readonly index: LeafIndex }> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const index = openLeafIndex(join(directory, 'leaves.db'));
  try {
    return { tree: await LogTree.open(log, index, directory), index };
  } catch (error) {
    index.close();
    throw error;
  }
}
