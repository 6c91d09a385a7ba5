/**
 * The tenants, in memory, kept current from the log. Each process that needs them has its own: tokens are
 * checked and commands decided without any read model.
 */

import { DIRECTORY_STREAM_PREFIXES, type Tenant } from '../domain/identity/directory.js';
import { copiedOnce } from '../domain/writable.js';
import type { EventStore, Position } from '../ports/eventStore.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { evolveTenantIn } from './projection.js';

const BACKOFF = { firstMs: 500, longestMs: 5_000 };

type Waiter = { readonly position: Position; readonly resolve: () => void; readonly reject: (error: Error) => void };

export class Directory {
  readonly #tenants = new Map<string, Tenant>();
  readonly #waiters = new Set<Waiter>();
  readonly #stopping = new AbortController();
  #position: Position = 0;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  /**
   * Reads what is stored, then keeps up in the background. Resolves when it is current.
   * @param onError hears of each interruption; the directory goes on by itself
   */
  static async start(eventStore: EventStore, onError: (error: unknown) => void): Promise<Directory> {
    const directory = new Directory();
    const head = await eventStore.head();
    directory.#running = directory.#keepUp(eventStore, onError);
    await directory.waitFor(head);
    return directory;
  }

  tenant(name: string): Tenant | undefined {
    return this.#tenants.get(name);
  }

  tenants(): Iterable<Tenant> {
    return this.#tenants.values();
  }

  get position(): Position {
    return this.#position;
  }

  /** Resolves when everything up to this position is known here. Rejects when the directory has stopped. */
  waitFor(position: Position): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#position >= position) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ position, resolve, reject }));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#fail(new Error('The directory has been stopped.'));
  }

  /** An event store that was away is tried again, from where the directory stands. */
  #keepUp(eventStore: EventStore, onError: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stopping;
    return keepRunning((succeeded) => this.#read(eventStore, signal, succeeded), {
      signal,
      backoff: BACKOFF,
      onFailure: ({ error }) => onError(error),
    });
  }

  async #read(eventStore: EventStore, signal: AbortSignal, succeeded: () => void): Promise<void> {
    const options = { after: this.#position, streamPrefixes: DIRECTORY_STREAM_PREFIXES, signal };
    for await (const slice of eventStore.subscribe(options)) {
      succeeded();
      const writable = copiedOnce();
      for (const event of slice.events) evolveTenantIn(this.#tenants, event, writable);
      this.#position = slice.position;
      for (const waiter of this.#waiters) {
        if (waiter.position > this.#position) continue;
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
    }
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
