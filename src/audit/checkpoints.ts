/** Signed checkpoints of the tree: their keys; how they are made, kept as the last one, and published for others to keep. */
import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { existsSync } from 'node:fs';
import { link, mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type PQueue from 'p-queue';
import { errorCode, writeWhole } from '../supervision/files.js';
import { sleep } from '../supervision/waiting.js';
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

/** Ed25519, a file each in `<data directory>/keys/`, the oldest first: the last signs, and all verify. */
type CheckpointKeys = readonly { readonly privateKey: KeyObject; readonly publicKey: KeyObject }[];

const KEY_FILE = /^checkpoint-\d{4}\.pem$/;
const FIRST_KEY_FILE = 'checkpoint-0001.pem';

/**
 * Reads the keys of a directory, and makes the first one if there is none.
 * @throws Error that names a file without an Ed25519 private key
 */
export async function openCheckpointKeys(directory: string): Promise<CheckpointKeys> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const names = async () => (await readdir(directory)).filter((name) => KEY_FILE.test(name)).sort();
  if ((await names()).length === 0) {
    const pem = generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' });
    await writeWhole(join(directory, FIRST_KEY_FILE), pem, link);
  }
  return Promise.all((await names()).map((name) => readKey(join(directory, name))));
}

async function readKey(file: string): Promise<CheckpointKeys[number]> {
  const pem = await readFile(file);
  try {
    const privateKey = createPrivateKey(pem);
    if (privateKey.asymmetricKeyType === 'ed25519') return { privateKey, publicKey: createPublicKey(privateKey) };
  } catch {
    // Said below.
  }
  throw new Error(`${file} holds no Ed25519 private key: put it back from a backup; it shows who signed checkpoints.`);
}

/** In the directory of the tree, where c2sp.org/tlog-tiles has it. */
const CHECKPOINT_FILE = 'checkpoint';

/** The log is no continuation of what the last checkpoint covers: nothing is signed that contradicts it. */
export class ContradictionError extends Error {}

/** Names the log in its checkpoints, and their keys. Copies of a log are the same log. */
const originOf = (log: string): string => `dynamic-assets/${log}`;

export const noteKeys = (log: string, keys: CheckpointKeys): readonly NoteKey[] =>
  keys.map(({ publicKey }) => ({ name: originOf(log), publicKey }));

/** A checkpoint with the public key that has signed it, as a word. */
export type SignedCheckpoint = { readonly note: string; readonly key: string };

export type StoredCheckpoint = Checkpoint & SignedCheckpoint;

/** The last checkpoint; undefined if there is none. @throws InvalidNoteError */
export async function lastCheckpoint(
  directory: string,
  keys: readonly NoteKey[],
): Promise<StoredCheckpoint | undefined> {
  const file = join(directory, CHECKPOINT_FILE);
  try {
    return storedIn(await readFile(file, 'utf8'), keys);
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    if (error instanceof InvalidNoteError) throw new InvalidNoteError(`${file}: ${error.message}`);
    throw error;
  }
}

/** @throws InvalidNoteError */
export function storedIn(note: string, keys: readonly NoteKey[]): StoredCheckpoint {
  const { text, key } = openNote(note, keys);
  return { ...parseCheckpoint(text), note, key: verifierKey(key) };
}

type CheckpointPlaces = {
  /** Where the tree is kept. */
  readonly directory: string;
  /** Gets a file for each size at which the tree was signed; none if undefined. */
  readonly published: string | undefined;
};

/**
 * Signs the tree as it is, keeps the checkpoint as the last one, and publishes it.
 * @returns the signed note; undefined while the tree has not all events yet that the last one covers
 * @throws ContradictionError; what the log and the files throw
 */
export async function makeCheckpoint(
  tree: LogTree,
  keys: CheckpointKeys,
  { directory, published }: CheckpointPlaces,
): Promise<string | undefined> {
  // Not before the tree is stored: after a crash it must not be smaller than its checkpoint.
  tree.commit();
  const checkpoint = { origin: originOf(tree.log), size: tree.size, root: tree.root() };
  const last = await lastCheckpoint(directory, noteKeys(tree.log, keys));
  // Another process may have signed what this one has not read yet.
  if (last !== undefined && last.size > tree.size && (await tree.isBehind())) return undefined;
  if (last !== undefined && !(await continues(tree, last)))
    throw new ContradictionError(
      `The log of ${tree.size} events does not begin with the ${last.size} that its last checkpoint covers: "dynamic-assets audit verify" says what was changed. No checkpoint is signed until the file audit/checkpoint of DATA_DIR is moved away.`,
    );
  await tree.writePartialTiles();
  const signer = keys.at(-1);
  if (signer === undefined) throw new Error('There is no key that signs checkpoints.');
  const note = signNote(checkpointText(checkpoint), { name: checkpoint.origin, ...signer });
  await writeWhole(join(directory, CHECKPOINT_FILE), note);
  const file = published && join(published, `checkpoint-${checkpoint.size}`);
  // What was published is never replaced.
  if (file !== undefined && !existsSync(file)) await writeWhole(file, note);
  return note;
}

const continues = async (tree: LogTree, { size, root }: Checkpoint): Promise<boolean> =>
  size <= tree.size && (await storedRoot(size, tree.read)).equals(root);

const COMMIT_EVERY_MS = 1_000;

type TreeKeeping = {
  readonly tree: LogTree;
  readonly keys: CheckpointKeys;
  readonly places: CheckpointPlaces;
  /** One at a time: a checkpoint is signed between two slices, by others as well. */
  readonly queue: PQueue;
  /** Milliseconds between two checkpoints; 0: none are made. */
  readonly everyMs: number;
  readonly onCheckpoint: (note: string) => void;
  readonly onContradiction: (error: ContradictionError) => void;
};

/**
 * Follows the log, stores how far the tree goes, and signs it, until the signal aborts.
 * @throws what the event store and the files throw, after both parts have stopped
 */
export async function keepTree(keeping: TreeKeeping, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  const { tree, queue } = keeping;
  const follow = async (): Promise<void> => {
    for await (const slice of tree.source.subscribe({ after: tree.position, signal: until }))
      await queue.add(() => tree.add(slice));
  };
  const running = [follow(), commitAndSign(keeping, until)];
  try {
    await Promise.all(running);
  } finally {
    ending.abort();
    await Promise.allSettled(running);
    tree.commit();
  }
}

async function commitAndSign(keeping: TreeKeeping, signal: AbortSignal): Promise<void> {
  const { tree, keys, places, queue, everyMs, onCheckpoint, onContradiction } = keeping;
  let dueAt = 0;
  // The first one covers what was in the log at the start.
  const head = await tree.source.head();
  while (!signal.aborted) {
    await queue.add(() => tree.commit());
    if (everyMs > 0 && Date.now() >= dueAt && tree.position >= head) {
      try {
        const note = await queue.add(() => makeCheckpoint(tree, keys, places));
        if (note !== undefined) onCheckpoint(note);
        dueAt = note === undefined ? 0 : Date.now() + everyMs;
      } catch (error) {
        if (!(error instanceof ContradictionError)) throw error;
        onContradiction(error);
        dueAt = Date.now() + everyMs;
      }
    }
    await sleep(COMMIT_EVERY_MS, signal);
  }
}
