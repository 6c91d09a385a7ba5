/**
 * Tells work that nobody wants its result any more. What an AbortSignal does, which takes as long to make and to listen to
 * as a tenth of a short list takes to read.
 */
export class Cancellation {
  #reason: Error | undefined;
  #callbacks: Set<() => void> | undefined;
  #signal: AbortSignal | undefined;

  /** Why the result is not wanted; undefined while it is. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  /** The first reason counts. */
  cancel(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    for (const callback of this.#callbacks ?? []) callback();
  }

  throwIfCancelled(): void {
    if (this.#reason !== undefined) throw this.#reason;
  }

  /** The callback is called at the cancellation. @returns what takes it back */
  onCancel(callback: () => void): () => void {
    this.#callbacks ??= new Set();
    const callbacks = this.#callbacks.add(callback);
    return () => callbacks.delete(callback);
  }

  /** For those who know signals only. */
  get signal(): AbortSignal {
    if (this.#signal !== undefined) return this.#signal;
    const controller = new AbortController();
    const abort = (): void => controller.abort(this.#reason);
    if (this.#reason === undefined) this.onCancel(abort);
    else abort();
    this.#signal = controller.signal;
    return this.#signal;
  }
}
