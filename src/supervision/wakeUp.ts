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
