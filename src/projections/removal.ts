/** Removes what tenants leave behind that were deleted, a bounded piece at a time: other tenants' projections are not held up. */
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

export type RemovalDeps = {
  readonly writer: Pick<ReadModelWriter, 'clearDropped'>;
  /** One write at a time: shared with the projections that use the same writer. */
  readonly writing: PQueue;
};

/** Runs until the signal aborts; begins with what an earlier process has left. @throws whatever an engine throws */
export async function keepRemoving({ writer, writing }: RemovalDeps, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const hadSome = await writing.add(() => writer.clearDropped());
    await sleep(hadSome ? WAITS.betweenMs : WAITS.idleMs, signal);
  }
}
