/** Drops old entries of the delivery log, a few at a time: neither projections nor deliveries are held up. */
import { setTimeout as wait } from 'node:timers/promises';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { inTransaction } from './transaction.js';
import type { Turns } from './turns.js';

export type RetentionDeps = {
  readonly writer: ReadModelWriter;
  /** Shared with the projections that use the same writer. */
  readonly turns: Turns;
  /** How long an entry stays after its delivery ended. */
  readonly days: number;
  readonly pauses?: RetentionPauses;
};

export type RetentionPauses = {
  /** At first, and after nothing was left to drop, in milliseconds. */
  readonly idleMs: number;
  /** Between two chunks, in milliseconds. */
  readonly betweenMs: number;
};

const PAUSES: RetentionPauses = { idleMs: 60_000, betweenMs: 1_000 };
const ENTRIES_A_CHUNK = 500;
const DAY_MS = 24 * 3600 * 1000;

/** Runs until the signal aborts. @throws whatever an engine throws */
export async function keepRetention(
  { writer, turns, days, pauses = PAUSES }: RetentionDeps,
  signal: AbortSignal,
): Promise<void> {
  let pauseMs = pauses.idleMs;
  for (;;) {
    // Ends early when stopped.
    await wait(pauseMs, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) return;
    const endedBefore = new Date(Date.now() - days * DAY_MS).toISOString();
    const dropped = await turns.take(() => dropChunk(writer, endedBefore));
    pauseMs = dropped === ENTRIES_A_CHUNK ? pauses.betweenMs : pauses.idleMs;
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
