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
  /** One at a time: a checkpoint is signed between two slices, by others as well. */
  readonly writing: PQueue;
  /** Milliseconds between two checkpoints; 0: none are made. */
  readonly everyMs: number;
  readonly onCheckpoint: (note: string) => void;
  readonly onContradiction: (error: ContradictionError) => void;
  /** Called each second with changes. */
  readonly onMoved: () => void;
};

export const oneAtATime = (): PQueue => new PQueue({ concurrency: 1 });

/** Runs until the signal aborts. @throws what the event store and the files throw, after both parts have stopped */
export async function keepTree(keeping: TreeKeeping, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const until = AbortSignal.any([signal, ending.signal]);
  const { log, tree, writing } = keeping;
  const follow = async (): Promise<void> => {
    for await (const slice of log.subscribe({ after: tree.position, signal: until }))
      await writing.add(() => tree.add(slice));
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
  const { log, tree, keys, places, writing, everyMs, onCheckpoint, onContradiction, onMoved } = keeping;
  const last = await lastCheckpoint(places.directory, noteKeys(tree.log, keys)).catch(() => undefined);
  let dueAt = last === undefined ? 0 : last.at.getTime() + everyMs;
  let [told, contradictions] = [-1, 0];
  /** What the next checkpoint is to cover: the head of the log when it became due. */
  let covered: number | undefined;
  while (!signal.aborted) {
    tree.commit();
    if (tree.position !== told) onMoved();
    told = tree.position;
    if (everyMs > 0 && Date.now() >= dueAt) covered ??= await log.head();
    if (covered !== undefined && tree.position >= covered) {
      try {
        onCheckpoint(await writing.add(() => makeCheckpoint(tree, keys, places)));
        contradictions = 0;
      } catch (error) {
        if (!(error instanceof ContradictionError)) throw error;
        contradictions += 1;
        if (contradictions === 2) onContradiction(error);
      }
      covered = undefined;
      dueAt = Date.now() + (contradictions === 1 ? LOOK_AGAIN_MS : everyMs);
    }
    await sleep(covered === undefined ? COMMIT_EVERY_MS : COMMIT_EVERY_MS / 10, signal);
  }
}
