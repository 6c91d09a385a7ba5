/**
 * The tenants, and the keys that sign tokens, in memory, kept current from the log. Each process has its own directory, so tokens are checked and
 * commands decided without a read model. A start continues from the stored directory; the keys are few, and read again.
 */

import { copiedOnce, DIRECTORY_STREAM_PREFIXES, type Tenant } from '../../domain/identity/directory.js';
import { evolveSigningKeys, type SigningKeyEvent, type StoredSigningKeys } from '../../domain/identity/signingKeys.js';
import { parseStream, SIGNING_KEYS_STREAM } from '../../domain/streams.js';
import {
  EventLogDamagedError,
  type EventPosition,
  type EventSlice,
  type EventStore,
  type Position,
  type RecordedEvent,
} from '../../ports/eventStore.js';
import type { ParkedTenant } from '../../ports/rowStore.js';
import { keepRunning } from '../../supervision/keepRunning.js';
import { notApplied } from '../tenantTexts.js';
import { evolveTenantIn } from './evolveTenant.js';
import { type DirectoryStore, type KnownTenants, StoredDirectory } from './storedDirectory.js';

const BACKOFF = { firstMs: 500, longestMs: 5_000 };

/** `revision`: of the last event of their stream that they show. */
type KnownKeys = { readonly keys: StoredSigningKeys; readonly revision: number };

const NO_KEYS: KnownKeys = { keys: [], revision: -1 };

const FOLLOWED = [...DIRECTORY_STREAM_PREFIXES, SIGNING_KEYS_STREAM];

type Waiter = { readonly position: Position; readonly resolve: () => void; readonly reject: (error: Error) => void };

export type DirectoryKeeping = {
  readonly store: DirectoryStore;
  /** Called when the directory cannot be stored: once for consecutive failures. */
  readonly onError: (error: unknown) => void;
};

export class Directory {
  readonly #stored: StoredDirectory | undefined;
  readonly #waiters = new Set<Waiter>();
  readonly #stopping = new AbortController();
  readonly #onParked: (parked: ParkedTenant) => void;
  #known: KnownTenants = { tenants: new Map(), place: { position: 0 } };
  #keys: KnownKeys = NO_KEYS;
  readonly #parked = new Map<string, ParkedTenant>();
  /** Set while a tenant is parked: all tenants are complete up to here. The next start reads on from here. */
  #completeUntil: EventPosition | undefined;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | undefined;

  private constructor(stored: StoredDirectory | undefined, onParked: (parked: ParkedTenant) => void) {
    this.#stored = stored;
    this.#onParked = onParked;
  }

  /**
   * Loads the stored directory, then follows the log in the background. Resolves when it is current.
   * @param onError called at each interruption; the directory continues by itself
   * @param keeping where the directory is stored between starts; default: nowhere
   * @param onParked called for each tenant that is parked
   * @param onReading called once with a function that tells how far the start has read, and to what position it reads
   * @throws what the event store throws
   */
  static async start(
    eventStore: EventStore,
    onError: (error: unknown) => void,
    keeping?: DirectoryKeeping,
    onParked: (parked: ParkedTenant) => void = () => undefined,
    onReading: (reached: () => { readonly position: Position; readonly of: Position }) => void = () => undefined,
  ): Promise<Directory> {
    const stored = keeping && new StoredDirectory(keeping.store, keeping.onError);
    const directory = new Directory(stored, onParked);
    try {
      if (stored !== undefined) directory.#known = await stored.load(eventStore);
      const head = await eventStore.head();
      // They are not stored with the directory.
      directory.#keys = (await eventStore.readStream(SIGNING_KEYS_STREAM)).reduce(withKeyEvent, NO_KEYS);
      onReading(() => ({ position: directory.position, of: head }));
      let isStarting = true;
      directory.#running = directory.#keepUp(eventStore, (error) => {
        // No retry would succeed.
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

  /** Tenants with an event that could not be applied; they stay in the state before it. */
  parked(): readonly ParkedTenant[] {
    return [...this.#parked.values()];
  }

  parkedReason(name: string): string | undefined {
    const parked = this.#parked.get(name);
    return parked && `This tenant is not served: ${notApplied(parked)}`;
  }

  wasDeleted(name: string): boolean {
    return this.#known.tenants.get(name)?.deleted ?? false;
  }

  /** Another object after each change. */
  get signingKeys(): StoredSigningKeys {
    return this.#keys.keys;
  }

  /** True if there never was a tenant. */
  get isEmpty(): boolean {
    return this.#known.tenants.size === 0;
  }

  get position(): Position {
    return this.#known.place.position;
  }

  /** Resolves when the directory has reached this position. Rejects if it has stopped. */
  waitFor(position: Position): Promise<void> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.position >= position) return Promise.resolve();
    return new Promise((resolve, reject) => this.#waiters.add({ position, resolve, reject }));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    this.#stored?.close();
    this.#fail(new Error('The directory has been stopped.'));
  }

  /** Retries an event store that is away, from the directory's position. */
  #keepUp(eventStore: EventStore, onError: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stopping;
    return keepRunning((succeeded) => this.#read(eventStore, signal, succeeded), {
      signal,
      backoff: BACKOFF,
      onFailure: onError,
    });
  }

  async #read(eventStore: EventStore, signal: AbortSignal, succeeded: () => void): Promise<void> {
    // The log was replaced by an older copy: nothing known is valid.
    if (this.#stored !== undefined && !(await eventStore.holds(this.#known.place))) {
      this.#known = this.#stored.reset();
      this.#keys = NO_KEYS;
      this.#parked.clear();
      this.#completeUntil = undefined;
    }
    const options = { after: this.position, streamPrefixes: FOLLOWED, signal };
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
    const changed = new Set<string>();
    for (const event of events) {
      if (event.stream === SIGNING_KEYS_STREAM) {
        this.#keys = withKeyEvent(this.#keys, event);
        continue;
      }
      const { tenant } = parseStream(event.stream);
      // A deletion ends it.
      if (event.type === 'TenantDeleted') this.#parked.delete(tenant);
      if (this.#parked.has(tenant)) continue;
      changed.add(tenant);
      try {
        evolveTenantIn(tenants, event, writable);
      } catch (error) {
        this.#park(tenant, event, error);
      }
    }
    this.#known = { tenants, place: { position, eventId } };
    this.#completeUntil = this.#parked.size === 0 ? undefined : (this.#completeUntil ?? before);
    this.#stored?.reached({ tenants, place: this.#completeUntil ?? this.#known.place }, changed);
  }

  #park(tenant: string, event: RecordedEvent, error: unknown): void {
    const parked = {
      tenant,
      position: event.position,
      eventId: event.id,
      eventType: event.type,
      error: error instanceof Error ? error.message : String(error),
      since: new Date().toISOString(),
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

/** Events that are known already change nothing, nor does one that cannot be applied: it must not stop all tenants. */
function withKeyEvent(known: KnownKeys, { type, data, metadata, revision }: RecordedEvent): KnownKeys {
  if (revision <= known.revision) return known;
  try {
    const keys = evolveSigningKeys(known.keys, { type, data } as SigningKeyEvent, metadata.occurredAt);
    return { keys, revision };
  } catch {
    return { ...known, revision };
  }
}
