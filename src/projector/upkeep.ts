/** What read models need now and then and nobody waits for, a bounded piece at a time: other tenants' projections are not held up. */
import type PQueue from 'p-queue';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';

/** In milliseconds. */
const WAITS = {
  /** After nothing was left. */
  idleMs: 5_000,
  /** Between two pieces, at least: as long as the one before took. */
  betweenMs: 10,
};

export type UpkeepDeps = {
  readonly writer: Pick<ReadModelWriter, 'clearDropped' | 'mergeIndexes'>;
  /** One write at a time: shared with the projections that use the same writer. */
  readonly writing: PQueue;
};

/**
 * Removes what deleted tenants leave behind, and merges indexes. Runs until the signal aborts.
 * @throws whatever an engine throws, when neither goes on any more
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
