/** Background maintenance of read models in bounded pieces, so that projections are not held up. */
import type PQueue from 'p-queue';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';

/** In milliseconds. */
const WAITS = {
  /** After nothing was left to do. */
  idleMs: 5_000,
  /** Shortest pause between two pieces; a longer piece is followed by a pause of its own length. */
  betweenMs: 10,
};

export type UpkeepDeps = {
  readonly writer: Pick<ReadModelWriter, 'clearDropped' | 'mergeIndexes'>;
  /** Serialises writes; shared with the projections that use the same writer. */
  readonly writing: PQueue;
};

/**
 * Deletes data that is out of service, and merges indexes. Runs until the signal aborts.
 * @throws what an engine throws, after both have stopped
 */
export async function keepUp({ writer, writing }: UpkeepDeps, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  const keep = async (piece: () => Promise<boolean>): Promise<void> => {
    while (!running.aborted) {
      const { mayBeMore, ms } = await writing.add(() => timed(piece));
      await sleep(mayBeMore ? Math.max(WAITS.betweenMs, ms) : WAITS.idleMs, running);
    }
  };
  const both = [keep(() => writer.clearDropped()), keep(() => writer.mergeIndexes())];
  try {
    await Promise.all(both);
  } finally {
    ending.abort();
    await Promise.allSettled(both);
  }
}

async function timed(piece: () => Promise<boolean>): Promise<{ readonly mayBeMore: boolean; readonly ms: number }> {
  const startedAt = performance.now();
  return { mayBeMore: await piece(), ms: performance.now() - startedAt };
}
