import { setTimeout as delay, setImmediate as pause } from 'node:timers/promises';

/** Resolves after the time, or at once when the signal aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}

/** So long one piece of work may have the event loop for itself: others meet several of them on their way through. */
const WITHOUT_PAUSE_MS = 3;

/** Long work asks now and then whether a pause is due, in which other work of the thread goes on. */
export class Pauses {
  #dueAt = performance.now() + WITHOUT_PAUSE_MS;

  isDue(): boolean {
    return performance.now() > this.#dueAt;
  }

  async take(): Promise<void> {
    // After the first, what has arrived meanwhile may not have been looked at yet: where this began in a callback of input.
    await pause();
    await pause();
    this.#dueAt = performance.now() + WITHOUT_PAUSE_MS;
  }
}

/** Maps much data without holding the event loop. */
export async function mapWithPauses<T, Result>(values: Iterable<T>, map: (value: T) => Result): Promise<Result[]> {
  const mapped: Result[] = [];
  const pauses = new Pauses();
  for (const value of values) {
    mapped.push(map(value));
    if (pauses.isDue()) await pauses.take();
  }
  return mapped;
}

/** An answer that did not come in time. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** The promise's outcome if it comes in time; a later one is ignored. @throws TimeLimitError with the message */
export async function withTimeout<T>(milliseconds: number, message: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError(message)), milliseconds);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}

/** Lets one loop wait for a call, a time or a signal, whichever comes first. */
export class WakeUp {
  #wake: () => void = () => undefined;

  /** Ends the wait; does nothing while nobody waits. */
  wake(): void {
    this.#wake();
  }

  /** Resolves with true when woken, with false after the time (undefined: no limit) or when the signal aborts. */
  async wait(milliseconds: number | undefined, signal?: AbortSignal): Promise<boolean> {
    if (signal?.aborted) return false;
    return new Promise((resolve) => {
      const end = (woken: boolean): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', stop);
        resolve(woken);
      };
      const stop = (): void => end(false);
      const timer = milliseconds === undefined ? undefined : setTimeout(stop, milliseconds);
      signal?.addEventListener('abort', stop);
      this.#wake = () => end(true);
    });
  }
}
