import { TimeLimitError } from './errors.js';

/** The promise's outcome, if it comes in time. What comes later is let go. @throws TimeLimitError */
export async function within<T>(milliseconds: number, what: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError(`${what} took over ${milliseconds} ms`)), milliseconds);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Resolves after a time, or at once when the signal aborts. */
export async function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  if (signal?.aborted === true) return;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/** Waits that double from `first` to `most` (milliseconds), ±20 % so that many who wait do not come at once. */
export class Backoff {
  readonly #first: number;
  readonly #most: number;
  #next: number;

  constructor(first: number, most: number) {
    this.#first = first;
    this.#most = most;
    this.#next = first;
  }

  next(): number {
    const wait = this.#next;
    this.#next = Math.min(this.#most, wait * 2);
    return wait * (0.8 + 0.4 * Math.random());
  }

  reset(): void {
    this.#next = this.#first;
  }
}
