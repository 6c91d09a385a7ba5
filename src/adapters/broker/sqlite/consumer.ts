/** One consumer of one queue: takes due jobs, runs their handlers, settles them. */
import { setImmediate as nextLoop } from 'node:timers/promises';
import type { Outcome, ReceivedMessage } from '../../../ports/messageBroker.js';
import type { JobStore, Settlement, TakenJob } from './jobStore.js';

/** How long a message waits after its handler threw. */
const RETRY_AFTER_THROW_MS = 1000;

export type ConsumerOptions = {
  readonly queue: string;
  readonly concurrency: number;
  readonly leaseMs: number;
  /** How often to look for jobs that another process published. */
  readonly pollMs: number;
  readonly handle: (message: ReceivedMessage) => Promise<Outcome>;
  readonly onHandlerError: (error: unknown, message: ReceivedMessage) => void;
};

export class Consumer {
  readonly #store: JobStore;
  readonly #options: ConsumerOptions;
  readonly #inWork = new Set<TakenJob>();
  #settlements: Settlement[] = [];
  #stopping = false;
  /** A lease that could not be renewed; ends the consumer. */
  #failure: { readonly error: unknown } | undefined;
  #renewedAt = Date.now();
  #woken = false;
  #wakeUp: () => void = () => {};

  constructor(store: JobStore, options: ConsumerOptions) {
    this.#store = store;
    this.#options = options;
  }

  /** Says that there may be something to do. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp();
  }

  /** Takes no more jobs; `run` resolves when those in work have ended. */
  stop(): void {
    this.#stopping = true;
    this.wake();
  }

  /** @throws what the store throws, when the handlers in work have ended; unsettled jobs are handed out again */
  async run(): Promise<void> {
    const renewal = setInterval(() => this.#renew(), this.#options.leaseMs / 3);
    try {
      while (!this.#stopping || this.#inWork.size > 0 || this.#settlements.length > 0) {
        await this.#rest(this.#turn());
        // What ends in the same turn of the event loop shares one transaction.
        await nextLoop();
      }
    } finally {
      while (this.#inWork.size > 0) await this.#rest(undefined);
      clearInterval(renewal);
    }
  }

  /** Settles and takes; returns how long to rest (ms) unless woken, undefined for "until woken". */
  #turn(): number | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const { queue, concurrency, leaseMs, pollMs } = this.#options;
    // After a stall (a machine that slept) our own leases must not look free to us.
    if (Date.now() - this.#renewedAt > leaseMs / 2) this.#renew();
    const free = this.#stopping ? 0 : concurrency - this.#inWork.size;
    const wanted = free > 0 && this.#dueInMs() <= 0 ? free : 0;
    const settlements = this.#settlements;
    this.#settlements = [];
    if (wanted > 0 || settlements.length > 0) {
      for (const job of this.#store.turn(queue, settlements, wanted)) void this.#work(job);
    }
    if (this.#stopping && this.#inWork.size === 0) return 0;
    if (this.#stopping || this.#inWork.size >= concurrency) return undefined;
    return Math.min(pollMs, Math.max(0, this.#dueInMs()));
  }

  #dueInMs(): number {
    return (this.#store.nextDue(this.#options.queue) ?? Number.POSITIVE_INFINITY) - Date.now();
  }

  async #rest(ms: number | undefined): Promise<void> {
    if (!this.#woken && ms !== 0) {
      await new Promise<void>((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(resolve, ms);
        this.#wakeUp = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    this.#woken = false;
  }

  async #work(job: TakenJob): Promise<void> {
    this.#inWork.add(job);
    const outcome = await this.#outcome(job.message);
    this.#inWork.delete(job);
    this.#settlements.push({ job, outcome });
    this.wake();
  }

  async #outcome(message: ReceivedMessage): Promise<Outcome> {
    try {
      return await this.#options.handle(message);
    } catch (error) {
      this.#options.onHandlerError(error, message);
      return { kind: 'again', delayMs: RETRY_AFTER_THROW_MS };
    }
  }

  #renew(): void {
    this.#renewedAt = Date.now();
    try {
      if (this.#inWork.size > 0) this.#store.renew(this.#inWork);
    } catch (error) {
      this.#failure = { error };
      this.wake();
    }
  }
}
