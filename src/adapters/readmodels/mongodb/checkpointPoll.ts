/** Waits until a projection has reached a position: asks the server, more and more seldom, while anybody waits. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '../../../ports/eventStore.js';
import { TimeLimitError, withinTime } from '../../../supervision/waiting.js';
import { type Checkpoint, positionOf } from './catalog.js';

/** Those who ask within so long share one read. */
const SHARED_READ_MS = 3;
const LONGEST_PAUSE_MS = 50;
/** What a single look may take, where no time is given to wait, in milliseconds. */
const LOOK_MS = 1_000;

export class CheckpointPoll {
  readonly #read: () => Promise<readonly Checkpoint[]>;
  #next: Promise<readonly Checkpoint[]> | undefined;
  #isClosed = false;

  constructor(read: () => Promise<readonly Checkpoint[]>) {
    this.#read = read;
  }

  /**
   * @returns false when it was not reached in time, or before `close`
   * @throws what reading the checkpoints throws
   */
  async waitFor(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    try {
      // A server that hangs is noticed by the driver after seconds only.
      const limitMs = Math.max(timeoutMs, LOOK_MS);
      return await withinTime(limitMs, 'MongoDB does not answer.', this.#poll(projection, position, timeoutMs));
    } catch (error) {
      if (error instanceof TimeLimitError) return false;
      throw error;
    }
  }

  async #poll(projection: string, position: Position, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    let checkpoints = await this.#read();
    let pauseMs = 0;
    while (positionOf(checkpoints, projection) < position) {
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      await delay(Math.min(pauseMs, leftMs));
      if (this.#isClosed) return false;
      checkpoints = await this.#readSoon();
      pauseMs = Math.min(1 + pauseMs * 1.3, LONGEST_PAUSE_MS);
    }
    return true;
  }

  /** Begins after all who share it have asked. */
  #readSoon(): Promise<readonly Checkpoint[]> {
    this.#next ??= delay(SHARED_READ_MS).then(() => {
      this.#next = undefined;
      return this.#isClosed ? [] : this.#read();
    });
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
  }
}
