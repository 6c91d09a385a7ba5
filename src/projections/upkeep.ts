/** What read models need now and then and nobody waits for, a bounded piece at a time: other tenants' projections are not held up. */
import type PQueue from 'p-queue';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';

/** In milliseconds. */
const WAITS = {
  /** After nothing was left. */
  idleMs: 5_000,
  /** Between two pieces. */
  betweenMs: 10,
};

export type UpkeepDeps = {
  readonly writer: Pick<ReadModelWriter, 'clearDropped' | 'mergeIndexes'>;
  /** One write at a time: shared with the projections that use the same writer. */
  readonly writing: PQueue;
};

/** Removes what deleted tenants leave behind, and merges indexes. Runs until the signal aborts. @throws whatever an engine throws */
export async function keepUp({ writer, writing }: UpkeepDeps, signal: AbortSignal): Promise<void> {
  await Promise.all(
    [() => writer.clearDropped(), () => writer.mergeIndexes()].map(async (piece) => {
      while (!signal.aborted) {
        const mayBeMore = await writing.add(piece);
        await sleep(mayBeMore ? WAITS.betweenMs : WAITS.idleMs, signal);
      }
    }),
  );
}
