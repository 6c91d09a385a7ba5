/** One consumer of one queue: takes due jobs, runs their handlers, stores the outcomes. */
import { setImmediate as immediate } from 'node:timers/promises';
import type { ConsumeOptions, Handler } from '../../../ports/messageBroker.js';
import { WakeUp } from '../../../supervision/waiting.js';
import { runHandler } from '../consuming.js';
import type { JobOutcome, JobStore, TakenJob } from './jobStore.js';

/**
 * How often to look for jobs that another process published, in milliseconds, or that come back as a dead process's leases
 * end. Publishing wakes the consumers of the same process.
 */
const POLL_MS = 2_500;

type ConsumerOptions = ConsumeOptions & {
  readonly queue: string;
  readonly leaseMs: number;
  readonly handle: Handler;
};

export class Consumer {
  readonly #wakeUp = new WakeUp();
  readonly #inFlight = new Set<TakenJob>();
  #outcomes: JobOutcome[] = [];
  /** Set if a lease could not be renewed; ends the consumer. */
  #failure: { readonly error: unknown } | undefined;
  #renewedAt = Date.now();
  #woken = false;

  constructor(
    private readonly store: JobStore,
    private readonly options: ConsumerOptions,
  ) {}

  /** Call it when there may be a due job. */
  wake(): void {
    this.#woken = true;
    this.#wakeUp.wake();
  }

  /**
   * Runs until the signal ends it.
   * @throws what the store throws, after the last handler; the remaining jobs are redelivered
   */
  async run(): Promise<void> {
    const { signal, leaseMs } = this.options;
    const wake = (): void => this.wake();
    signal.addEventListener('abort', wake);
    const renewal = setInterval(() => this.#renew(), leaseMs / 3);
    try {
      while (!signal.aborted || this.#inFlight.size > 0 || this.#outcomes.length > 0) {
        await this.#rest(this.#exchange());
        // Outcomes of one turn of the event loop share a transaction.
        await immediate();
      }
    } finally {
      while (this.#inFlight.size > 0) await this.#rest(undefined);
      clearInterval(renewal);
      signal.removeEventListener('abort', wake);
    }
  }

  /** Stores outcomes and takes jobs. Returns how long to sleep (ms) unless woken; undefined for "until woken". */
  #exchange(): number | undefined {
    if (this.#failure !== undefined) throw this.#failure.error;
    const { queue, concurrency, signal, leaseMs } = this.options;
    // After a stall (a suspended machine) our own leases must not look expired to us.
    if (Date.now() - this.#renewedAt > leaseMs / 2) this.#renew();
    const free = signal.aborted ? 0 : concurrency - this.#inFlight.size;
    const wanted = free > 0 && this.#dueInMs() <= 0 ? free : 0;
    const outcomes = this.#outcomes;
    this.#outcomes = [];
    if (wanted > 0 || outcomes.length > 0) {
      for (const job of this.store.exchange(queue, outcomes, wanted)) void this.#run(job);
    }
    if (signal.aborted && this.#inFlight.size === 0) return 0;
    if (signal.aborted || this.#inFlight.size >= concurrency) return undefined;
    return Math.min(POLL_MS, Math.max(0, this.#dueInMs()));
  }

  #dueInMs(): number {
    return (this.store.nextDue(this.options.queue) ?? Number.POSITIVE_INFINITY) - Date.now();
  }

  async #rest(ms: number | undefined): Promise<void> {
    if (!this.#woken && ms !== 0) await this.#wakeUp.wait(ms);
    this.#woken = false;
  }

  async #run(job: TakenJob): Promise<void> {
    this.#inFlight.add(job);
    const outcome = await runHandler(this.options.handle, job.message);
    this.#inFlight.delete(job);
    this.#outcomes.push({ job, outcome });
    this.wake();
  }

  #renew(): void {
    this.#renewedAt = Date.now();
    try {
      if (this.#inFlight.size > 0) this.store.renew(this.#inFlight);
    } catch (error) {
      this.#failure = { error };
      this.wake();
    }
  }
}
