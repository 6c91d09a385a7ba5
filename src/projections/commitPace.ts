/**
 * When the projector commits. Each commit costs about as much as several records do, so what is short gathers for some
 * milliseconds, but only while nobody waits to read it.
 */
import { WakeUp } from '../supervision/waiting.js';
import type { Backlog } from './backlog.js';

/** From one commit to the next, in milliseconds, while nobody waits. */
const GATHER_MS = 5;
/** Who waits says so once in a while, in milliseconds, and is heard for longer than that. */
export const SAY_AGAIN_MS = 10;
const HURRY_MS = 4 * SAY_AGAIN_MS;

export class CommitPace {
  readonly #wakeUp = new WakeUp();
  #committedAt = Number.NEGATIVE_INFINITY;
  #hurriedAt = Number.NEGATIVE_INFINITY;

  /** Somebody waits for what is not applied yet. */
  hurry(): void {
    this.#hurriedAt = performance.now();
    this.look();
  }

  /** The backlog has changed. */
  look(): void {
    this.#wakeUp.wake();
  }

  committed(): void {
    this.#committedAt = performance.now();
  }

  /** Until it is time to commit what is in the backlog. */
  async gather(backlog: Backlog, signal: AbortSignal): Promise<void> {
    while (!signal.aborted && !backlog.isLong) {
      const now = performance.now();
      const restMs = this.#committedAt + GATHER_MS - now;
      if (restMs <= 0 || now < this.#hurriedAt + HURRY_MS) return;
      await this.#wakeUp.wait(restMs, signal);
    }
  }
}
