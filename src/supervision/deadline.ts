/** The time limit of a piece of work, including everything it waits for. */
import { Cancellation } from './cancellation.js';

/** The time ended before the work. */
export class DeadlineError extends Error {}

/** Cancelled when its time ends, unless `end` is called before. */
export class Deadline extends Cancellation {
  /** On the clock of `performance.now()`. */
  #until = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param reason makes the reason of the cancellation, such as a DeadlineError */
  constructor(
    milliseconds: number,
    private readonly overReason: () => Error,
  ) {
    super();
    this.#start(milliseconds);
  }

  /** Remaining milliseconds; 0 when the time is over. */
  get leftMs(): number {
    return this.reason === undefined ? Math.max(0, this.#until - performance.now()) : 0;
  }

  /** A shorter deadline, which is cancelled with this one as well. */
  part(milliseconds: number, reason: () => Error): Deadline {
    const part = new Deadline(milliseconds, reason);
    this.onCancel(() => part.cancel(this.reason ?? reason()));
    return part;
  }

  /** Returns the work's outcome if it comes in time; a later one is ignored. @throws the reason of the cancellation */
  within<T>(work: Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const forget = this.onCancel(() => reject(this.reason));
      work.then(resolve, reject).finally(forget);
    });
  }

  /** Waits without using up the time. One call at a time. */
  async uncounted<T>(work: Promise<T>): Promise<T> {
    const { leftMs } = this;
    clearTimeout(this.#timer);
    try {
      return await work;
    } finally {
      if (this.#timer !== undefined && this.reason === undefined) this.#start(leftMs);
    }
  }

  /** The work is done, or no longer wanted. */
  end(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  #start(milliseconds: number): void {
    this.#until = performance.now() + milliseconds;
    this.#timer = setTimeout(() => this.cancel(this.overReason()), milliseconds).unref();
  }
}

/** Returns the promise's outcome if it comes in time; a later one is ignored. @throws DeadlineError with the message */
export function withTimeout<T>(milliseconds: number, message: string, promise: Promise<T>): Promise<T> {
  const deadline = new Deadline(milliseconds, () => new DeadlineError(message));
  return deadline.within(promise).finally(() => deadline.end());
}
