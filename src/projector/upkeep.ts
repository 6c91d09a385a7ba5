/** Background maintenance of read models in bounded pieces, so that projections are not held up. */
import type PQueue from 'p-queue';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { inTransaction } from './applying.js';

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

/** In milliseconds. */
const RETENTION_WAITS = {
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
  readonly waits?: typeof RETENTION_WAITS;
};

const ENTRIES_A_CHUNK = 500;
const DAY_MS = 24 * 3600 * 1000;

/** Runs until the signal aborts. @throws what an engine throws */
export async function keepRetention(
  { writer, writing, days, waits = RETENTION_WAITS }: RetentionDeps,
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
