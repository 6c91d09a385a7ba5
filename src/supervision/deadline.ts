/** The time limit of a piece of work, including everything it waits for. */
import { Cancellation } from './cancellation.js';

/** The time ended before the work. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Precision of deadlines. All share one clock: a timer for each costs a twentieth of a get's processor time. */
const TICK_MS = 50;
/** Not a Set: with frequent changes, V8 keeps removed entries of a Set until the next full collection. */
const running: Deadline[] = [];
let clock: NodeJS.Timeout | undefined;

function tick(): void {
  const now = performance.now();
  for (const deadline of [...running]) deadline.check(now);
  if (running.length > 0) return;
  clearInterval(clock);
  clock = undefined;
}

/** Cancelled when its time ends, unless `end` is called before. */
export class Deadline extends Cancellation {
  readonly #overReason: () => Error;
  /** On the clock of `performance.now()`. */
  #until = 0;
  #hasEnded = false;
  /** Index in `running`; -1 if it is not there. */
  #place = -1;

  /** @param reason makes the reason of the cancellation, such as a DeadlineError */
  constructor(milliseconds: number, reason: () => Error) {
    super();
    this.#overReason = reason;
    this.#start(milliseconds);
  }

  /** Remaining milliseconds; 0 when the time is over. */
  get leftMs(): number {
    return this.reason === undefined ? Math.max(0, this.#until - performance.now()) : 0;
  }

  /** Returns the work's outcome if it comes in time; a later one is ignored. @throws the reason of the cancellation */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(this.reason);
      const forget = this.onCancel(giveUp);
      if (this.reason !== undefined) giveUp();
      work.then(resolve, reject).finally(forget);
    });
  }

  /** Waits without using up the time. One call at a time. */
  async uncounted<T>(work: Promise<T>): Promise<T> {
    const { leftMs } = this;
    this.#leave();
    try {
      return await work;
    } finally {
      if (!this.#hasEnded && this.reason === undefined) this.#start(leftMs);
    }
  }

  /** The work is done, or no longer wanted. */
  end(): void {
    this.#hasEnded = true;
    this.#leave();
  }

  /** Called by the clock. */
  check(now: number): void {
    if (this.#place < 0 || now < this.#until) return;
    this.#leave();
    this.cancel(this.#overReason());
  }

  #start(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    this.#place = running.push(this) - 1;
    clock ??= setInterval(tick, TICK_MS).unref();
  }

  /** The last deadline takes its index. */
  #leave(): void {
    if (this.#place < 0) return;
    const last = running.pop();
    if (last !== undefined && last !== this) {
      running[this.#place] = last;
      last.#place = this.#place;
    }
    this.#place = -1;
  }
}
