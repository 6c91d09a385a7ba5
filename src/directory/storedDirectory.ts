/**
 * Stores the directory between starts, with its position in the log. Changes are stored soon, in the background: only
 * changed parts of changed tenants. A failed store is repeated later, or the next start reads more of the log.
 */
import { randomUUID } from 'node:crypto';
import type { Tenant } from '../domain/identity/directory.js';
import { changedParts, type TenantPart, tenantFrom } from '../domain/identity/tenantParts.js';
import type { DirectoryPlace, DirectorySaved, DirectoryStore, StoredPart } from '../ports/directoryStore.js';
import type { EventPosition, EventStore } from '../ports/eventStore.js';
import { Pauses } from '../supervision/waiting.js';

/**
 * Raise it when events evolve, or parts are made, differently: the directory is then built from the log. Changed
 * standard tables are no reason, since parts do not contain them.
 */
export const PARTS_VERSION = 2;

/** How soon changes are stored, in milliseconds. */
const CHANGES_AFTER_MS = 1_000;
/** How soon a position without changes is stored, or a failed attempt repeated, in milliseconds. */
const PLACE_AFTER_MS = 10_000;

/** Tenants as of a position in the log. */
export type KnownTenants = { readonly tenants: Map<string, Tenant>; readonly place: EventPosition };

const nothing = (): KnownTenants => ({ tenants: new Map(), place: { position: 0 } });

export class StoredDirectory {
  readonly #store: DirectoryStore;
  readonly #onError: (error: unknown) => void;
  #logId = '';
  #build = '';
  #known = nothing();
  /** Tenants that changed since they were stored, by name, as they were stored. */
  #changed = new Map<string, Tenant | undefined>();
  /** Whether the store holds another log's or build's directory, which is to be replaced. */
  #isNew = true;
  #storedPosition = 0;
  #isSuperseded = false;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  #timerEndsAt = Number.POSITIVE_INFINITY;
  #saving: Promise<void> = Promise.resolve();

  /** @param onError called once for consecutive failures */
  constructor(store: DirectoryStore, onError: (error: unknown) => void) {
    this.#store = store;
    this.#onError = onError;
  }

  /**
   * The stored directory if the log still holds its last event, else an empty one. @throws what the event store throws
   */
  async load(eventStore: Pick<EventStore, 'identity' | 'holds'>): Promise<KnownTenants> {
    this.#logId = await eventStore.identity();
    const stored = await this.#loaded();
    if (stored === undefined || stored.place.logId !== this.#logId || !(await eventStore.holds(stored.place))) {
      return this.reset();
    }
    const { build, ...place } = stored.place;
    this.#build = build;
    this.#isNew = false;
    this.#storedPosition = place.position;
    this.#known = { tenants: stored.tenants, place };
    return this.#known;
  }

  /** Starts from an empty directory, which will replace the stored one. */
  reset(): KnownTenants {
    this.#build = randomUUID();
    this.#isNew = true;
    this.#storedPosition = 0;
    this.#changed.clear();
    this.#known = nothing();
    return this.#known;
  }

  /**
   * Call it after each slice of the log.
   * @param known the same tenants, changed in place, and the position reached
   * @param changed the changed tenants by name, as they were before
   */
  reached(known: KnownTenants, changed: ReadonlyMap<string, Tenant | undefined>): void {
    this.#known = known;
    for (const [name, before] of changed) if (!this.#changed.has(name)) this.#changed.set(name, before);
    this.#saveWithin(changed.size > 0 && !this.#hasFailed ? CHANGES_AFTER_MS : PLACE_AFTER_MS);
  }

  /** Stores the rest, and closes the store. */
  async close(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#saving;
    await this.#save();
    await this.#store.close().catch(this.#onError);
  }

  #saveWithin(milliseconds: number): void {
    const endsAt = performance.now() + milliseconds;
    if (this.#isSuperseded || endsAt >= this.#timerEndsAt) return;
    clearTimeout(this.#timer);
    this.#timerEndsAt = endsAt;
    this.#timer = setTimeout(() => {
      this.#saving = this.#saving.then(() => this.#save());
    }, milliseconds).unref();
  }

  /** Never rejects. */
  async #save(): Promise<void> {
    this.#timerEndsAt = Number.POSITIVE_INFINITY;
    const build = this.#build;
    const { position } = this.#known.place;
    if (this.#isSuperseded || position <= this.#storedPosition) return;
    const changed = this.#changed;
    this.#changed = new Map();
    let outcome: DirectorySaved | 'failed' = 'failed';
    try {
      outcome = await this.#write(changed);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#onError(error);
      this.#hasFailed = true;
    }
    if (build !== this.#build) return;
    if (outcome === 'saved') {
      this.#isNew = false;
      this.#storedPosition = position;
      return;
    }
    this.#isSuperseded = outcome === 'superseded';
    // Even if a tenant changed again meanwhile, its stored state is the older one.
    for (const [name, before] of changed) this.#changed.set(name, before);
    this.#saveWithin(PLACE_AFTER_MS);
  }

  #write(changed: ReadonlyMap<string, Tenant | undefined>): Promise<DirectorySaved> {
    const { tenants, place } = this.#known;
    const at: DirectoryPlace = { ...place, logId: this.#logId, build: this.#build };
    if (this.#isNew) return this.#store.replace(at, partsOf([...tenants.values()].map((now) => [undefined, now])));
    const pairs = [...changed].flatMap(([name, before]): Change[] => {
      const now = tenants.get(name);
      return now === undefined ? [] : [[before, now]];
    });
    return this.#store.save(at, partsOf(pairs));
  }

  async #loaded(): Promise<{ readonly place: DirectoryPlace; readonly tenants: Map<string, Tenant> } | undefined> {
    try {
      const stored = await this.#store.load();
      return stored && { place: stored.place, tenants: await tenantsFrom(stored.parts) };
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }
}

type Change = readonly [before: Tenant | undefined, now: Tenant];

function* partsOf(changes: readonly Change[]): Generator<StoredPart> {
  for (const [before, now] of changes) {
    for (const part of changedParts(before, now)) yield { tenant: now.name, ...part };
  }
}

async function tenantsFrom(stored: readonly StoredPart[]): Promise<Map<string, Tenant>> {
  const parts = new Map<string, TenantPart[]>();
  for (const { tenant, ...part } of stored) {
    const ofTenant = parts.get(tenant) ?? [];
    ofTenant.push(part);
    parts.set(tenant, ofTenant);
  }
  const tenants = new Map<string, Tenant>();
  const pauses = new Pauses();
  for (const [name, ofTenant] of parts) {
    tenants.set(name, tenantFrom(ofTenant));
    if (pauses.isDue()) await pauses.take();
  }
  return tenants;
}
