/** Keeps the tree current: follows the log, stores how far it goes, and signs checkpoints. */
import PQueue from 'p-queue';
import { sleep } from '../supervision/waiting.js';
import type { CheckpointKeys } from './checkpointKeys.js';
import { type CheckpointPlaces, ContradictionError, lastCheckpoint, makeCheckpoint, noteKeys } from './checkpoints.js';
import type { LogTree, TreeLog } from './logTree.js';

const COMMIT_EVERY_MS = 1_000;
/** Before a contradiction counts: another process may have signed a tree that this one has not read yet. */
const LOOK_AGAIN_MS = 10_000;

type TreeKeeping = {
  readonly log: TreeLog;
  readonly tree: LogTree;
  readonly keys: CheckpointKeys;
  readonly places: CheckpointPlaces;
  /** A checkpoint is signed between two slices, by others as well. */
  readonly writing?: PQueue;
  /** Milliseconds between two checkpoints; 0: none are made. */
  readonly everyMs: number;
  readonly onCheckpoint: (note: string) => void;
  readonly onContradiction: (error: ContradictionError) => void;
  /** Called each second with changes. */
  readonly onMoved: () => void;
};

export const oneAtATime = (): PQueue => new PQueue({ concurrency: 1 });

/** Runs until the signal aborts. @throws what the event store and the files throw, after all parts have stopped */
export async function keepTree(keeping: TreeKeeping, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  const { writing = oneAtATime() } = keeping;
  const running = [follow(keeping, writing, until), commitNowAndThen(keeping, until), sign(keeping, writing, until)];
  try {
    await Promise.all(running);
  } finally {
    ending.abort();
    await Promise.allSettled(running);
    keeping.tree.commit();
  }
}

async function follow({ log, tree }: TreeKeeping, writing: PQueue, signal: AbortSignal): Promise<void> {
  for await (const slice of log.subscribe({ after: tree.position, signal })) await writing.add(() => tree.add(slice));
}

async function commitNowAndThen({ tree, onMoved }: TreeKeeping, signal: AbortSignal): Promise<void> {
  let told = -1;
  while (!signal.aborted) {
    tree.commit();
    if (tree.position !== told) onMoved();
    told = tree.position;
    await sleep(COMMIT_EVERY_MS, signal);
  }
}

async function sign(keeping: TreeKeeping, writing: PQueue, signal: AbortSignal): Promise<void> {
  const { log, tree, keys, places, everyMs, onCheckpoint, onContradiction } = keeping;
  if (everyMs === 0) return;
  const last = await lastCheckpoint(places.directory, noteKeys(tree.log, keys)).catch(() => undefined);
  if (last !== undefined) await sleep(Math.max(0, last.at.getTime() + everyMs - Date.now()), signal);
  let contradictions = 0;
  while (!signal.aborted) {
    await reached(tree, await log.head(), signal);
    if (signal.aborted) return;
    try {
      onCheckpoint(await writing.add(() => makeCheckpoint(tree, keys, places)));
      contradictions = 0;
    } catch (error) {
      if (!(error instanceof ContradictionError)) throw error;
      contradictions += 1;
      if (contradictions === 2) onContradiction(error);
    }
    await sleep(contradictions === 1 ? LOOK_AGAIN_MS : everyMs, signal);
  }
}

async function reached(tree: LogTree, head: number, signal: AbortSignal): Promise<void> {
  while (tree.position < head && !signal.aborted) await sleep(COMMIT_EVERY_MS / 10, signal);
}
