/** Deletes old entries of the delivery log in small chunks, so that neither projections nor deliveries wait. */
import type PQueue from 'p-queue';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { inTransaction } from './transaction.js';

/** In milliseconds. */
const WAITS = {
  /** At the start, and after nothing was left to delete. */
  idleMs: 60_000,
  /** Between two chunks. */
  betweenMs: 1_000,
};

export type RetentionDeps = {
  readonly writer: ReadModelWriter;
  /** Serialises writes; shared with the projections that use the same writer. */
  readonly writing: PQueue;
  /** How many days an entry stays after its delivery ended. */
  readonly days: number;
  readonly waits?: typeof WAITS;
};

const ENTRIES_A_CHUNK = 500;
const DAY_MS = 24 * 3600 * 1000;

/** Runs until the signal aborts. @throws what an engine throws */
export async function keepRetention(
  { writer, writing, days, waits = WAITS }: RetentionDeps,
  signal: AbortSignal,
): Promise<void> {
  let waitMs = waits.idleMs;
  for (;;) {
    await sleep(waitMs, signal);
    if (signal.aborted) return;
    const endedBefore = new Date(Date.now() - days * DAY_MS).toISOString();
    const dropped = await writing.add(() => dropChunk(writer, endedBefore));
    waitMs = dropped === ENTRIES_A_CHUNK ? waits.betweenMs : waits.idleMs;
  }
}

async function dropChunk(writer: ReadModelWriter, endedBefore: string): Promise<number> {
  let dropped = 0;
  await inTransaction(writer, async () => {
    dropped = await writer.dropDeliveries(endedBefore, ENTRIES_A_CHUNK);
    return new Map();
  });
  return dropped;
}
