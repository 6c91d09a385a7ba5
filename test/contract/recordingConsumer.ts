/** A consumer that keeps what it was handed. */
import type { MessageBroker, Outcome, ReceivedMessage } from '#app/ports/messageBroker.js';

export type Handler = (message: ReceivedMessage) => Promise<Outcome> | Outcome;

export class RecordingConsumer {
  readonly received: ReceivedMessage[] = [];
  readonly #abort: AbortController;
  readonly #ended: Promise<void>;
  readonly #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor(broker: MessageBroker, queue: string, handle: Handler, concurrency: number, abort: AbortController) {
    this.#abort = abort;
    this.#ended = broker.consume(queue, { concurrency, signal: abort.signal }, async (message) => {
      this.received.push(message);
      for (const { count, resolve } of this.#waiting) if (this.received.length >= count) resolve();
      return handle(message);
    });
  }

  /** Resolves when so many messages have been handed out; rejects when the consumer fails. */
  arrived(count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#ended.catch(reject);
      if (this.received.length >= count) resolve();
      else this.#waiting.push({ count, resolve });
    });
  }

  /** Resolves when what is in flight has ended. */
  stop(): Promise<void> {
    this.#abort.abort();
    return this.#ended;
  }
}

/** Something to wait for, and what ends the wait. */
export function gate(): { held: Promise<void>; release: () => void } {
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { held, release: () => release() };
}
