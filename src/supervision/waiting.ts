import { setTimeout as delay, setImmediate } from 'node:timers/promises';

/** Resolves after the time, or at once when the signal aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}

/** Resolves in a later turn of the event loop. */
export const nextTurn = (): Promise<void> => setImmediate();

/** An answer did not come in time. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** Returns the promise's outcome if it comes in time; a later one is ignored. @throws TimeLimitError with the message */
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

  /** Ends the wait, if there is one. */
  wake(): void {
    this.#wake();
  }

  /** Resolves true when woken, false after the time (undefined: no limit) or when the signal aborts. */
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

/** Callers that ask while an answer is on its way share it. */
export function singleFlight<Answer>(ask: () => Promise<Answer>): () => Promise<Answer> {
  let asked: Promise<Answer> | undefined;
  return () => {
    asked ??= ask().finally(() => {
      asked = undefined;
    });
    return asked;
  };
}
