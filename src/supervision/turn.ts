import { setImmediate as nextRound } from 'node:timers/promises';

/** So long one request may have the event loop for itself. */
const TURN_MS = 10;

/** The time in which long work of one request does without a pause; after it, others have theirs. */
export class Turn {
  #end = performance.now() + TURN_MS;

  isOver(): boolean {
    return performance.now() > this.#end;
  }

  /** Resolves when what waited has been served. */
  async next(): Promise<void> {
    await nextRound();
    this.#end = performance.now() + TURN_MS;
  }
}
