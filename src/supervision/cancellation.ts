/**
 * Tells work that its result is no longer wanted. A cheap AbortSignal: creating and listening to a real one costs a
 * tenth of reading a short list.
 */
import { setMaxListeners } from 'node:events';

export class Cancellation {
  #reason: Error | undefined;
  #callbacks: Set<() => void> | undefined;
  #signal: AbortSignal | undefined;

  /** The reason of the cancellation; undefined before. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** Only the first reason counts. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const callback of this.#callbacks ?? []) callback();
  }

  throwIfCancelled(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** Calls the callback at the cancellation, or at once after it. @returns a function that removes it */
  onCancel(callback: () => void): () => void {
    if (this.#reason !== undefined) callback();
    this.#callbacks ??= new Set();
    const callbacks = this.#callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  /** For APIs that take an AbortSignal. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    // Each read of a request listens.
    setMaxListeners(0, controller.signal);
    this.onCancel(() => controller.abort(this.#reason));
    this.#signal = controller.signal;
    return this.#signal;
  }
}
