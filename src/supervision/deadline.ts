/** The time that a piece of work has, with all that it does and waits for. */
import { Cancellation } from './cancellation.js';

/** The time was over before the work was done. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** So late a deadline may be. One clock for all: with a timer for each, a get took a twentieth more of the processor. */
const TICK_MS = 50;
const running = new Set<Deadline>();
let clock: NodeJS.Timeout | undefined;

function tick(): void {
  const now = performance.now();
  for (const deadline of running) deadline.look(now);
  if (running.size > 0) return;
  clearInterval(clock);
  clock = undefined;
}

/** Cancelled when the time is over, unless it is ended before. */
export class Deadline extends Cancellation {
  readonly #message: string;
  /** On the clock of `performance.now()`. */
  #until = 0;
  #hasEnded = false;

  /** @param message of the DeadlineError */
  constructor(milliseconds: number, message: string) {
    super();
    this.#message = message;
    this.#start(milliseconds);
  }

  /** 0 when the time is over. */
  get leftMs(): number {
    return this.reason === undefined ? Math.max(0, this.#until - performance.now()) : 0;
  }

  /**
   * The work's outcome if it comes in time; a later one is ignored.
   * @param graceMs how long after the end of the time, so that work that listens to it can say itself what has become of it
   * @throws DeadlineError
   */
  within<T>(work: Promise<T>, graceMs = 0): Promise<T> {
    return new Promise((resolve, reject) => {
      let grace: NodeJS.Timeout | undefined;
      const giveUp = (): void => {
        grace = setTimeout(() => reject(this.reason), graceMs);
      };
      const forget = this.onCancel(giveUp);
      if (this.reason !== undefined) giveUp();
      const end = (): void => {
        forget();
        clearTimeout(grace);
      };
      work.then(
        (result) => {
          end();
          resolve(result);
        },
        (error: unknown) => {
          end();
          reject(error);
        },
      );
    });
  }

  /** Waits for something that takes none of the time. One at a time. */
  async uncounted<T>(work: Promise<T>): Promise<T> {
    const { leftMs } = this;
    running.delete(this);
    try {
      return await work;
    } finally {
      if (!this.#hasEnded && this.reason === undefined) this.#start(leftMs);
    }
  }

  /** The work is done, or nobody asks for it any more. */
  end(): void {
    this.#hasEnded = true;
    running.delete(this);
  }

  /** For the clock. */
  look(now: number): void {
    if (now < this.#until) return;
    running.delete(this);
    this.cancel(new DeadlineError(this.#message));
  }

  #start(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    running.add(this);
    clock ??= setInterval(tick, TICK_MS).unref();
  }
}
