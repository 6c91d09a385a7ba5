/** Signed checkpoints of the tree: made, kept as the last one, and published for others to keep. */
import { existsSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode } from '../supervision/errorCode.js';
import type { CheckpointKeys } from './checkpointKeys.js';
import type { LogTree } from './logTree.js';
import { storedRoot } from './merkle.js';
import {
  type Checkpoint,
  checkpointText,
  InvalidNoteError,
  type NoteKey,
  openNote,
  parseCheckpoint,
  signNote,
  verifierKey,
} from './note.js';
import { writeWhole } from './tiles.js';

/** In the directory of the tree, where c2sp.org/tlog-tiles has it. */
const CHECKPOINT_FILE = 'checkpoint';

/** The log is no continuation of what the last checkpoint covers: nothing is signed that contradicts it. */
export class ContradictionError extends Error {
  override readonly name = 'ContradictionError';
}

/** Names the log in its checkpoints, and their keys. Copies of a log are the same log. */
const originOf = (log: string): string => `dynamic-assets/${log}`;

export const noteKeys = (log: string, keys: CheckpointKeys): readonly NoteKey[] =>
  keys.map(({ publicKey }) => ({ name: originOf(log), publicKey }));

/** The public keys as words, for those who verify; the last one signs. */
export const verifierKeys = (log: string, keys: CheckpointKeys): readonly string[] =>
  noteKeys(log, keys).map(verifierKey);

/** A checkpoint with the public key that has signed it, as a word. */
export type SignedCheckpoint = { readonly note: string; readonly key: string };

export type StoredCheckpoint = Checkpoint &
  SignedCheckpoint & {
    /** When it was made. */
    readonly at: Date;
  };

/** The last checkpoint; undefined if there is none. @throws InvalidNoteError */
export async function lastCheckpoint(
  directory: string,
  keys: readonly NoteKey[],
): Promise<StoredCheckpoint | undefined> {
  const file = join(directory, CHECKPOINT_FILE);
  try {
    const [note, { mtime }] = await Promise.all([readFile(file, 'utf8'), stat(file)]);
    const { text, key } = openNote(note, keys);
    return { ...parseCheckpoint(text), note, key: verifierKey(key), at: mtime };
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (error instanceof InvalidNoteError) throw new InvalidNoteError(`${file}: ${error.message}`);
    throw error;
  }
}

export type CheckpointPlaces = {
  /** Where the tree is kept. */
  readonly directory: string;
  /** Gets a file for each size at which the tree was signed; none if undefined. */
  readonly published: string | undefined;
};

/**
 * Signs the tree as it is, keeps the checkpoint as the last one, and publishes it.
 * @returns the signed note. @throws ContradictionError; what the files throw
 */
export async function makeCheckpoint(
  tree: LogTree,
  keys: CheckpointKeys,
  { directory, published }: CheckpointPlaces,
): Promise<string> {
  // Not before the tree is stored: after a crash it must not be smaller than its checkpoint.
  tree.commit();
  const checkpoint = { origin: originOf(tree.log), size: tree.size, root: tree.root() };
  await refuseContradiction(tree, await lastCheckpoint(directory, noteKeys(tree.log, keys)));
  await tree.writePartialTiles();
  const { privateKey, publicKey } = keys.at(-1) ?? keys[0];
  const note = signNote(checkpointText(checkpoint), { name: checkpoint.origin, privateKey, publicKey });
  await writeWhole(join(directory, CHECKPOINT_FILE), note);
  const file = published && join(published, `checkpoint-${checkpoint.size}`);
  // What was published is never replaced.
  if (file !== undefined && !existsSync(file)) await writeWhole(file, note);
  return note;
}

async function refuseContradiction(tree: LogTree, last: Checkpoint | undefined): Promise<void> {
  if (last === undefined) return;
  const remedy =
    'No checkpoint is signed until "dynamic-assets audit verify" has said what was changed, and the file audit/checkpoint of DATA_DIR is moved away.';
  if (last.size > tree.size)
    throw new ContradictionError(
      `The log has ${tree.size} events, and its last checkpoint covers ${last.size}. ${remedy}`,
    );
  if (!(await storedRoot(last.size, tree.read)).equals(last.root))
    throw new ContradictionError(
      `The first ${last.size} events of the log are not those that its last checkpoint covers. ${remedy}`,
    );
}
