/** Shared by both brokers: running a handler, and the set of running consumers. */
import type { ConsumeOptions, Handler, Outcome, ReceivedMessage } from '../../ports/messageBroker.js';

/** Redelivery delay after a handler threw. */
const RETRY_AFTER_THROW_MS = 1000;

export const warn = (thrown: unknown): void =>
  process.emitWarning(thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown));

/** Never rejects: if the handler throws, that is a process warning, and the message is retried. */
export async function runHandler(handle: Handler, message: ReceivedMessage): Promise<Outcome> {
  try {
    return await handle(message);
  } catch (error) {
    warn(error);
    return { kind: 'retry', delayMs: RETRY_AFTER_THROW_MS };
  }
}

/** The consumers of one broker. */
export class RunningConsumers<Consumer extends { run(): Promise<void> }> {
  readonly #closing = new AbortController();
  readonly #running = new Map<Consumer, { readonly queue: string; readonly ended: Promise<void> }>();

  /** Aborts with the signal, or when the broker is closed. */
  ending(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#closing.signal]);
  }

  /** Runs one consumer until the signal, or `stop`, ends it. */
  async run(
    queue: string,
    { signal, concurrency }: ConsumeOptions,
    create: (options: ConsumeOptions) => Consumer,
  ): Promise<void> {
    if (signal.aborted) return;
    const consumer = create({ concurrency, signal: this.ending(signal) });
    const ended = consumer.run();
    this.#running.set(consumer, { queue, ended });
    try {
      await ended;
    } finally {
      this.#running.delete(consumer);
    }
  }

  of(queue: string): readonly Consumer[] {
    return [...this.#running].flatMap(([consumer, { queue: consumed }]) => (consumed === queue ? [consumer] : []));
  }

  /** Resolves when the messages in flight have their outcomes. A consumer's failure rejects its `run`. */
  async stop(): Promise<void> {
    this.#closing.abort();
    await Promise.allSettled([...this.#running.values()].map(({ ended }) => ended));
  }
}
