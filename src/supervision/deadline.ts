/** The time that a piece of work has, with all that it does and waits for. */
import { Cancellation } from './cancellation.js';

/** The time was over before the work was done. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** So late a deadline may be. One clock for all: with a timer for each, a get took a twentieth more of the processor. */
const TICK_MS = 50;
/** No Set: of one where things come and go all the time, V8 keeps what was in it until the next full collection. */
const running: Deadline[] = [];
let clock: NodeJS.Timeout | undefined;

function tick(): void {
  const now = performance.now();
  for (const deadline of [...running]) deadline.look(now);
  if (running.length > 0) return;
  clearInterval(clock);
  clock = undefined;
}

/** Cancelled when the time is over, unless it is ended before. */
export class Deadline extends Cancellation {
  readonly #overReason: () => Error;
  /** On the clock of `performance.now()`. */
  #until = 0;
  #hasEnded = false;
  /** In `running`; -1 while it is not there. */
  #place = -1;

  /** @param reason of the cancellation when the time is over, such as a DeadlineError */
  constructor(milliseconds: number, reason: () => Error) {
    super();
    this.#overReason = reason;
    this.#start(milliseconds);
  }

  /** 0 when the time is over. */
  get leftMs(): number {
    return this.reason === undefined ? Math.max(0, this.#until - performance.now()) : 0;
  }

  /** The work's outcome if it comes in time; a later one is ignored. @throws the reason of the cancellation */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const giveUp = (): void => reject(this.reason);
      const forget = this.onCancel(giveUp);
      if (this.reason !== undefined) giveUp();
      work.then(resolve, reject).finally(forget);
    });
  }

  /** Waits for something that takes none of the time. One at a time. */
  async uncounted<T>(work: Promise<T>): Promise<T> {
    const { leftMs } = this;
    this.#leave();
    try {
      return await work;
    } finally {
      if (!this.#hasEnded && this.reason === undefined) this.#start(leftMs);
    }
  }

  /** The work is done, or nobody asks for it any more. */
  end(): void {
    this.#hasEnded = true;
    this.#leave();
  }

  /** For the clock. */
  look(now: number): void {
    if (this.#place < 0 || now < this.#until) return;
    this.#leave();
    this.cancel(this.#overReason());
  }

  #start(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    this.#place = running.push(this) - 1;
    clock ??= setInterval(tick, TICK_MS).unref();
  }

  /** The last one takes its place. */
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
