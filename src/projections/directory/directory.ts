/**
 * The tenants, and the keys that sign tokens, in memory, kept current from the log. Each process has its own directory, so tokens are checked and
 * commands decided without a read model. A start continues from the stored directory; the keys are few, and read again.
 */
import {
  DIRECTORY_STREAM_PREFIXES,
  evolveTenant,
  type OwnTenant,
  ownCopy,
  type Tenant,
} from '../../domain/identity/directory.js';
import type { DirectoryEvent } from '../../domain/identity/events.js';
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
import { DeadlineError, withTimeout } from '../../supervision/deadline.js';
import { messageOf } from '../../supervision/files.js';
import { keepRunning } from '../../supervision/keepRunning.js';
import { sleep } from '../../supervision/waiting.js';
import { notApplied } from '../tenantTexts.js';
import { nothingKnown, type StoredDirectory } from './storedDirectory.js';

const BACKOFF = { firstMs: 500, longestMs: 5_000 };
/** Between two refreshes: so requests with invented names cause few. */
const MIN_REFRESH_INTERVAL_MS = 20;
/** How long a request waits before it refuses an unknown name. */
const LONGEST_REFRESH_MS = 2_000;

/** `revision`: of the last event of their stream that they show. */
type KnownKeys = { readonly keys: StoredSigningKeys; readonly revision: number };

const NO_KEYS: KnownKeys = { keys: [], revision: -1 };

const FOLLOWED = [...DIRECTORY_STREAM_PREFIXES, SIGNING_KEYS_STREAM];

type Waiter = { readonly position: Position; readonly resolve: () => void; readonly reject: (error: Error) => void };

export class Directory {
  readonly #waiters = new Set<Waiter>();
  readonly #stopping = new AbortController();
  #known = nothingKnown();
  #keys: KnownKeys = NO_KEYS;
  readonly #parked = new Map<string, ParkedTenant>();
  /** Set while a tenant is parked: all tenants are complete up to here. The next start reads on from here. */
  #completeUntil: EventPosition | undefined;
  #running: Promise<void> = Promise.resolve();
  #failure: Error | undefined;
  /** One that has not read the log's head yet; callers share it. */
  #nextRefresh: Promise<void> | undefined;
  #lastRefresh: Promise<unknown> = Promise.resolve();

  private constructor(
    private readonly eventStore: EventStore,
    private readonly stored: StoredDirectory | undefined,
    private readonly onParked: (parked: ParkedTenant) => void,
  ) {}

  /**
   * Loads the stored directory, then follows the log in the background. Resolves when it is current.
   * @param onError called at each interruption; the directory continues by itself
   * @param onParked called for each tenant that is parked
   * @param stored keeps it between starts
   * @throws what the event store throws
   */
  static async start(
    eventStore: EventStore,
    onError: (error: unknown) => void,
    onParked: (parked: ParkedTenant) => void = () => undefined,
    stored?: StoredDirectory,
  ): Promise<Directory> {
    const directory = new Directory(eventStore, stored, onParked);
    try {
      if (stored !== undefined) directory.#known = await stored.load(eventStore);
      const head = await eventStore.head();
      // They are not stored with the directory.
      directory.#keys = (await eventStore.readStream(SIGNING_KEYS_STREAM)).reduce(withKeyEvent, NO_KEYS);
      let isStarting = true;
      directory.#running = directory.#keepUp((error) => {
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

  refresh(): Promise<void> {
    this.#nextRefresh ??= this.#readToHead();
    return this.#nextRefresh;
  }

  async #readToHead(): Promise<void> {
    await this.#lastRefresh;
    // From here on, it may miss new events: callers need the next one.
    this.#nextRefresh = undefined;
    const caughtUp = this.eventStore.head().then((head) => this.waitFor(head));
    const running = withTimeout(LONGEST_REFRESH_MS, 'The directory is behind.', caughtUp);
    this.#lastRefresh = Promise.allSettled([running, sleep(MIN_REFRESH_INTERVAL_MS)]);
    await running.catch((error: unknown) => {
      if (!(error instanceof DeadlineError)) throw error;
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.stored?.close();
    this.#fail(new Error('The directory has been stopped.'));
  }

  /** Retries an event store that is away, from the directory's position. */
  #keepUp(onError: (error: unknown) => void): Promise<void> {
    const { signal } = this.#stopping;
    return keepRunning((succeeded) => this.#read(signal, succeeded), {
      signal,
      backoff: BACKOFF,
      onFailure: onError,
    });
  }

  async #read(signal: AbortSignal, succeeded: () => void): Promise<void> {
    // The log was replaced by an older copy: nothing known is valid.
    if (this.stored !== undefined && !(await this.eventStore.holds(this.#known.place))) {
      this.#known = nothingKnown();
      this.#keys = NO_KEYS;
      this.#parked.clear();
      this.#completeUntil = undefined;
    }
    const options = { after: this.position, streamPrefixes: FOLLOWED, signal };
    for await (const slice of this.eventStore.subscribe(options)) {
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
    // Others have seen the tenants as they were before.
    const own = new Map<string, OwnTenant | undefined>();
    for (const event of events) {
      if (event.stream === SIGNING_KEYS_STREAM) {
        this.#keys = withKeyEvent(this.#keys, event);
        continue;
      }
      const { tenant: name } = parseStream(event.stream);
      // A deletion ends it.
      if (event.type === 'TenantDeleted') this.#parked.delete(name);
      if (this.#parked.has(name)) continue;
      try {
        const known = tenants.get(name);
        const tenant = tenantAfter(own.get(name) ?? (known && ownCopy(known)), event);
        if (tenant === undefined) continue;
        own.set(name, tenant);
        tenants.set(name, tenant);
      } catch (error) {
        this.#park(name, event, error);
      }
    }
    this.#known = { tenants, place: { position, eventId } };
    this.#completeUntil = this.#parked.size === 0 ? undefined : (this.#completeUntil ?? before);
    this.stored?.reached({ tenants, place: this.#completeUntil ?? this.#known.place });
  }

  #park(tenant: string, event: RecordedEvent, error: unknown): void {
    const parked = {
      tenant,
      position: event.position,
      eventId: event.id,
      eventType: event.type,
      error: messageOf(error),
      since: new Date().toISOString(),
    };
    this.#parked.set(tenant, parked);
    this.onParked(parked);
  }

  #fail(error: Error): void {
    this.#failure = error;
    for (const waiter of this.#waiters) waiter.reject(error);
    this.#waiters.clear();
  }
}

/**
 * The tenant after an event of one of its directory streams; see `evolveTenant`.
 * @throws Error if the event cannot be applied
 */
function tenantAfter(tenant: OwnTenant | undefined, event: RecordedEvent): OwnTenant | undefined {
  const { type, data, stream, position, metadata } = event;
  const after = evolveTenant(tenant, { type, data } as DirectoryEvent, metadata.occurredAt, position);
  const { tenant: name } = parseStream(stream);
  if (after !== undefined && after.name !== name)
    throw new Error(`The event names another tenant than its stream, ${name}.`);
  return after;
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
