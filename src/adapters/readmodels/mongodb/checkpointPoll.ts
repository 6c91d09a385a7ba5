/** Waits until a projection has reached a position: asks the server, with growing pauses, while a caller waits. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Position } from '../../../ports/eventStore.js';
import { TimeLimitError, withTimeout } from '../../../supervision/waiting.js';
import { positionOf, type State } from './catalog.js';

type Progress = Pick<State, 'checkpoints' | 'parked'>;

/** Callers that ask within so long share one read. */
const SHARED_READ_MS = 3;
const LONGEST_PAUSE_MS = 50;
/** The time limit of a single read, if the caller gives no time to wait. */
const READ_MS = 1_000;

export class CheckpointPoll {
  readonly #read: () => Promise<Progress | undefined>;
  #next: Promise<Progress | undefined> | undefined;
  #isClosed = false;

  constructor(read: () => Promise<Progress | undefined>) {
    this.#read = read;
  }

  /**
   * @returns false if it was not reached in time or before `close`, or if the tenant is parked
   * @throws what reading the checkpoints throws
   */
  async waitFor(projection: string, position: Position, timeoutMs: number, tenant?: string): Promise<boolean> {
    try {
      // The driver notices a server that hangs only after seconds.
      const limitMs = Math.max(timeoutMs, READ_MS);
      return await withTimeout(
        limitMs,
        'MongoDB does not answer.',
        this.#poll(projection, position, timeoutMs, tenant),
      );
    } catch (error) {
      if (error instanceof TimeLimitError) return false;
      throw error;
    }
  }

  async #poll(projection: string, position: Position, timeoutMs: number, tenant: string | undefined): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const isParked = ({ parked = [] }: Progress) =>
      parked.some((each) => each.projection === projection && each.tenant === tenant);
    let progress = await this.#read();
    let pauseMs = 0;
    for (;;) {
      if (progress !== undefined && isParked(progress)) return false;
      if (positionOf(progress?.checkpoints, projection) >= position) return true;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) return false;
      await delay(Math.min(pauseMs, leftMs));
      if (this.#isClosed) return false;
      progress = await this.#readSoon();
      pauseMs = Math.min(1 + pauseMs * 1.3, LONGEST_PAUSE_MS);
    }
  }

  /** Begins after all callers that share it have asked. */
  #readSoon(): Promise<Progress | undefined> {
    this.#next ??= delay(SHARED_READ_MS).then(() => {
      this.#next = undefined;
      return this.#isClosed ? undefined : this.#read();
    });
    return this.#next;
  }

  close(): void {
    this.#isClosed = true;
  }
}
