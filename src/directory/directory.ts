/**
 * The tenants, in memory, kept current from the log. Each process that needs them has its own: tokens are
 * checked and commands decided without any read model. A start reads on from where they were stored.
 */

import { DIRECTORY_STREAM_PREFIXES, type Tenant } from '../domain/identity/directory.js';
import { parseStream } from '../domain/streams.js';
import { copiedOnce } from '../domain/writable.js';
import type { DirectoryStore } from '../ports/directoryStore.js';
import {
  EventLogDamagedError,
  type EventPosition,
  type EventSlice,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../ports/eventStore.js';
import type { Parked } from '../ports/readModels.js';
import { notApplied } from '../projector/tenantState.js';
import { evolveTenantIn } from '../projector/transaction.js';
import { keepRunning } from '../supervision/keepRunning.js';
import { type KnownTenants, StoredDirectory } from './storedDirectory.js';

const BACKOFF = { firstMs: 500, longestMs: 5_000 };

type Waiter = { readonly position: Position; readonly resolve: () => void; readonly reject: (error: Error) => void };

export type DirectoryKeeping = {
  readonly store: DirectoryStore;
  /** Hears when the directory cannot be stored, of failures in a row of the first. */
  readonly onError: (error: unknown) => void;
};

export class Directory {
  readonly #stored: StoredDirectory | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #stopping = new AbortController();
  readonly #onParked: (parked: Parked) => void;
  #known: KnownTenants = { tenants: new Map(), place: { position: 0 } };
  readonly #parked = new Map<string, Parked>();
  /** While somebody is parked: so far all are whole. The next start looks at what follows again. */
  #wholeUntil: EventPosition | undefined;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  private constructor(stored: StoredDirectory | undefined, onParked: (parked: Parked) => void) {
    this.#stored = stored;
    this.#onParked = onParked;
  }

  /**
   * Reads what is stored, then keeps up in the background. Resolves when it is current.
   * @param onError hears of each interruption; the directory goes on by itself
   * @param keeping where it is kept between starts; nowhere by default
   * @param onParked hears of each tenant that is parked
   * @throws what the event store throws
   */
  static async start(
    eventStore: EventStore,
    onError: (error: unknown) => void,
    keeping?: DirectoryKeeping,
    onParked: (parked: Parked) => void = () => undefined,
  ): Promise<Directory> {
    const stored = keeping && new StoredDirectory(keeping.store, keeping.onError);
    const directory = new Directory(stored, onParked);
    try {
      if (stored !== undefined) directory.#known = await stored.load(eventStore);
      const head = await eventStore.head();
      let isStarting = true;
      directory.#running = directory.#keepUp(eventStore, (error) => {
        // No later try would succeed.
        if (isStarting && error instanceof EventLogDamagedError) directory.#fail(error);
        else onError(error);
      });
      await directory.waitFor(head);
      isStarting = false;
      return directory;
    } catch (error) {
      await directory.stop();
      throw error;
    }
  }

  tenant(name: string): Tenant | undefined {
    const tenant = this.#known.tenants.get(name);
    return tenant?.deleted ? undefined : tenant;
  }

  *tenants(): Iterable<Tenant> {
    for (const tenant of this.#known.tenants.values()) if (!tenant.deleted) yield tenant;
  }

  /** Tenants with an event that could not be applied: they are as they were before it. */
  parked(): readonly Parked[] {
    return [...this.#parked.values()];
  }

  parkedReason(name: string): string | undefined {
    const parked = this.#parked.get(name);
    return parked && `This tenant is not served: ${notApplied(parked)}`;
  }

  wasDeleted(name: string): boolean {
    return this.#known.tenants.get(name)?.deleted ?? false;
  }

  /** Whether there never was a tenant. */
  get isEmpty(): boolean {
    return this.#known.tenants.size === 0;
  }

  get position(): Position {
    return this.#known.place.position;
  }

  /** Resolves when everything up to this position is known here. Rejects when the directory has stopped. */
  waitFor(position: Position): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.position >= position) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ position, resolve, reject }));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#stored?.close();
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
    // A log that was put back to an older copy meanwhile: what is known is of none.
    if (this.#stored !== undefined && !(await eventStore.holds(this.#known.place))) {
      this.#known = this.#stored.beginAnew();
      this.#parked.clear();
      this.#wholeUntil = undefined;
    }
    const options = { after: this.position, streamPrefixes: DIRECTORY_STREAM_PREFIXES, signal };
    for await (const slice of eventStore.subscribe(options)) {
      succeeded();
      this.#evolve(slice);
      for (const waiter of this.#waiters) {
        if (waiter.position > this.position) continue;
        this.#waiters.delete(waiter);
        waiter.resolve();
      }
    }
  }

  #evolve({ events, position, eventId }: EventSlice): void {
    const { tenants, place: before } = this.#known;
    const writable = copiedOnce();
    const changed = new Map<string, Tenant | undefined>();
    for (const event of events) {
      const { tenant } = parseStream(event.stream);
      // Whatever it was, it ends.
      if (event.type === 'TenantDeleted') this.#parked.delete(tenant);
      if (this.#parked.has(tenant)) continue;
      if (!changed.has(tenant)) changed.set(tenant, tenants.get(tenant));
      try {
        evolveTenantIn(tenants, event, writable);
      } catch (error) {
        this.#park(tenant, event, before, error);
      }
    }
    this.#known = { tenants, place: { position, eventId } };
    this.#wholeUntil = this.#parked.size === 0 ? undefined : (this.#wholeUntil ?? before);
    this.#stored?.reached({ tenants, place: this.#wholeUntil ?? this.#known.place }, changed);
  }

  #park(tenant: string, event: RecordedEvent, { position: checkpoint }: EventPosition, error: unknown): void {
    const parked = {
      tenant,
      projection: 'directory',
      checkpoint,
      position: event.position,
      eventId: event.id,
      eventType: event.type,
      error: error instanceof Error ? error.message : String(error),
      since: new Date().toISOString(),
      retryAsked: false,
    };
    this.#parked.set(tenant, parked);
    this.#onParked(parked);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}
