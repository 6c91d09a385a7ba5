import { setTimeout as delay } from 'node:timers/promises';

/** Resolves after the time, or at once when the signal aborts. */
export async function sleep(milliseconds: number, signal?: AbortSignal): Promise<void> {
  await delay(milliseconds, undefined, { ...(signal && { signal }) }).catch(() => undefined);
}

/** How long work may hold the event loop, in milliseconds. */
const WITHOUT_PAUSE_MS = 3;

/** By group, such as a tenant; the one whose turn is next comes first. */
const waitingForTurn = new Map<string, (() => void)[]>();

/** Lets one caller after the other go on until they have held the event loop for long enough. */
function takeTurn(): void {
  const until = performance.now() + WITHOUT_PAUSE_MS;
  const goOn = (): void => {
    const [[group, line] = ['', []]] = waitingForTurn;
    line.shift()?.();
    waitingForTurn.delete(group);
    if (line.length > 0) waitingForTurn.set(group, line);
    // A tick that a microtask asks for comes after all microtasks, so after what the caller does before it waits again.
    if (waitingForTurn.size > 0) queueMicrotask(() => process.nextTick(next));
  };
  const next = (): void => void (performance.now() < until ? goOn() : setImmediate(takeTurn));
  goOn();
}

/**
 * Resolves in a later turn of the event loop. Callers that have little to do share a turn, for a few milliseconds at most:
 * with `setImmediate` alone all would go on in the same turn, and input would wait for all of them: a health check 2 s beside
 * 300 reads of records of a megabyte, and 30 ms this way. Tenants go on in turn: beside them another's list waited 2 s as well.
 */
export function nextTurn(group = ''): Promise<void> {
  return new Promise((resolve) => {
    if (waitingForTurn.size === 0) setImmediate(takeTurn);
    const line = waitingForTurn.get(group);
    if (line === undefined) waitingForTurn.set(group, [resolve]);
    else line.push(resolve);
  });
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
