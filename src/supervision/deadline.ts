/** The time that a piece of work has, with all that it does and waits for. */
import { Cancellation } from './cancellation.js';

/** The time was over before the work was done. */
export class DeadlineError extends Error {
  override readonly name = 'DeadlineError';
}

/** Cancelled when the time is over. Until then, or until it is ended, a timer runs. */
export class Deadline extends Cancellation {
  readonly #message: string;
  #timer: NodeJS.Timeout | undefined;
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
    clearTimeout(this.#timer);
    try {
      return await work;
    } finally {
      if (!this.#hasEnded && this.reason === undefined) this.#start(leftMs);
    }
  }

  /** The work is done, or nobody asks for it any more. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  #start(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    this.#timer = setTimeout(() => this.cancel(new DeadlineError(this.#message)), milliseconds);
  }
}
