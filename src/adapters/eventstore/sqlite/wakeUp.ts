import { BroadcastChannel } from 'node:worker_threads';

/**
 * Tells a waiting reader that the log may have grown: at once for appends of this process
 * (any thread), at the next poll for those of another.
 */
export class WakeUp {
  readonly #channel: BroadcastChannel;
  readonly #pollMs: number;
  #wake = () => {};

  constructor(channel: string, pollMs: number) {
    this.#pollMs = pollMs;
    this.#channel = new BroadcastChannel(channel);
    this.#channel.onmessage = () => this.#wake();
    this.#channel.unref();
  }

  /** Resolves at the next word of an append, after the poll interval, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    await new Promise<void>((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        signal.removeEventListener('abort', wake);
        resolve();
      };
      const timer = setTimeout(wake, this.#pollMs);
      signal.addEventListener('abort', wake);
      this.#wake = wake;
    });
  }

  close(): void {
    this.#channel.close();
  }
}
