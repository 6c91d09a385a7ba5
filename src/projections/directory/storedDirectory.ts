/**
 * Stores the directory between starts, with its position in the log. Changed tenants are stored soon, in the background.
 * A failed store is repeated later, or the next start reads more of the log.
 */
import { randomUUID } from 'node:crypto';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Tenant, Webhook } from '../../domain/identity/directory.js';
import type { ApiClient, User } from '../../domain/identity/events.js';
import { onThisRelease, standardTables } from '../../domain/identity/tenantTables.js';
import type { EventPosition, EventStore } from '../../ports/eventStore.js';

/**
 * Raise it when events evolve, or tenants are stored, differently: the directory is then built from the log. Changed
 * standard tables are no reason, since they are not stored.
 */
export const TENANTS_VERSION = 7;

/** How soon changes are stored, in milliseconds. */
const CHANGES_AFTER_MS = 1_000;
/** How soon a position without changes is stored, or a failed attempt repeated, in milliseconds. */
const PLACE_AFTER_MS = 10_000;

/** The position that the stored directory has reached, in which log and in which build. */
type DirectoryPlace = EventPosition & {
  readonly logId: string;
  /** Changes with each build from the start of the log: tells processes that share the store whose tenants it holds. */
  readonly build: string;
};

/** A tenant as JSON text. */
type StoredTenant = { readonly name: string; readonly json: string };

/**
 * Where it is stored. Holds nothing that the log does not: if it is missing or old, the start takes longer. Methods throw the
 * engine's errors (full disk, damaged or locked file) and then change nothing.
 */
export interface DirectoryStore {
  /** Undefined if nothing is stored. Tenants come in the order in which they were first stored. */
  load(): { readonly place: DirectoryPlace; readonly tenants: readonly StoredTenant[] } | undefined;
  /**
   * Stores tenants and the new position, both or nothing.
   * @param isWhole they take the place of all that is stored, which may be of another build
   * @returns whether they were stored: not while another process stores, has stored a later position, or another build
   */
  save(place: DirectoryPlace, tenants: Iterable<StoredTenant>, isWhole: boolean): boolean;
  close(): void;
}

/** Tenants as of a position in the log, by name. */
export type KnownTenants = {
  readonly tenants: Map<string, Tenant>;
  readonly place: EventPosition;
};

const nothing = (): KnownTenants => ({ tenants: new Map(), place: { position: 0 } });

export class StoredDirectory {
  readonly #store: DirectoryStore;
  readonly #onError: (error: unknown) => void;
  #logId = '';
  #build = '';
  #known = nothing();
  /** Names of tenants that changed since they were stored. */
  readonly #changed = new Set<string>();
  /** Whether the store holds another log's or build's directory, which is to be replaced. */
  #isNew = true;
  #storedPosition = 0;
  #hasFailed = false;
  #timer: NodeJS.Timeout | undefined;
  #timerEndsAt = Number.POSITIVE_INFINITY;

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
    const stored = this.#loaded();
    if (stored === undefined || stored.place.logId !== this.#logId || !(await eventStore.holds(stored.place))) {
      return this.reset();
    }
    const { build, ...place } = stored.place;
    this.#build = build;
    this.#isNew = false;
    this.#storedPosition = place.position;
    this.#known = { ...stored, place };
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
   * @param changed names of the changed tenants
   */
  reached(known: KnownTenants, changed: ReadonlySet<string>): void {
    this.#known = known;
    for (const name of changed) this.#changed.add(name);
    this.#saveWithin(changed.size > 0 && !this.#hasFailed ? CHANGES_AFTER_MS : PLACE_AFTER_MS);
  }

  /** Stores the rest, and closes the store. */
  close(): void {
    clearTimeout(this.#timer);
    this.#save();
    try {
      this.#store.close();
    } catch (error) {
      this.#onError(error);
    }
  }

  #saveWithin(milliseconds: number): void {
    const endsAt = performance.now() + milliseconds;
    if (endsAt >= this.#timerEndsAt) return;
    clearTimeout(this.#timer);
    this.#timerEndsAt = endsAt;
    this.#timer = setTimeout(() => this.#save(), milliseconds).unref();
  }

  #save(): void {
    this.#timerEndsAt = Number.POSITIVE_INFINITY;
    const { tenants, place } = this.#known;
    if (place.position <= this.#storedPosition) return;
    const changed = this.#isNew ? tenants.values() : [...this.#changed].flatMap((name) => tenants.get(name) ?? []);
    const at = { ...place, logId: this.#logId, build: this.#build };
    let isSaved = false;
    try {
      isSaved = this.#store.save(at, storedTenants(changed), this.#isNew);
      this.#hasFailed = false;
    } catch (error) {
      if (!this.#hasFailed) this.#onError(error);
      this.#hasFailed = true;
    }
    if (isSaved) {
      this.#isNew = false;
      this.#storedPosition = place.position;
      this.#changed.clear();
      return;
    }
    this.#saveWithin(PLACE_AFTER_MS);
  }

  #loaded(): (Omit<KnownTenants, 'place'> & { readonly place: DirectoryPlace }) | undefined {
    try {
      const stored = this.#store.load();
      return (
        stored && {
          place: stored.place,
          tenants: new Map(stored.tenants.map(({ name, json }) => [name, tenantFrom(json)] as const)),
        }
      );
    } catch (error) {
      this.#onError(error);
      return undefined;
    }
  }
}

function* storedTenants(tenants: Iterable<Tenant>): Generator<StoredTenant> {
  for (const tenant of tenants) yield { name: tenant.name, json: tenantJson(tenant) };
}

/** A tenant whose maps are lists, in their order. Of the tables, only those that the tenant has made or added fields to. */
type TenantJson = Omit<Tenant, 'assetTypes' | 'clients' | 'users' | 'webhooks' | 'endedSessions'> & {
  readonly assetTypes: readonly AssetType[];
  readonly clients: readonly ApiClient[];
  readonly users: readonly User[];
  readonly webhooks: readonly Webhook[];
  readonly endedSessions: readonly (readonly [userId: number, sessions: readonly (readonly [string, string])[]])[];
};

/** Standard tables and fields are not stored: a later release may have others. */
export function tenantJson(tenant: Tenant): string {
  const standard = standardTables(tenant.orderModel);
  const stored: TenantJson = {
    ...tenant,
    assetTypes: [...tenant.assetTypes.values()].filter((each) => standard.get(each.name) !== each),
    clients: [...tenant.clients.values()],
    users: [...tenant.users.values()],
    webhooks: [...tenant.webhooks.values()],
    endedSessions: [...tenant.endedSessions].map(([userId, sessions]) => [userId, [...sessions]]),
  };
  return JSON.stringify(stored);
}

/** The tenant with the standard tables of this release. @param json of `tenantJson`, maybe of an earlier release */
export function tenantFrom(json: string): Tenant {
  const stored: TenantJson = JSON.parse(json);
  const standard = standardTables(stored.orderModel);
  const own = stored.assetTypes.flatMap((each) => onThisRelease(standard, each) ?? []);
  return {
    ...stored,
    assetTypes: new Map([...standard, ...own.map((each) => [each.name, each] as const)]),
    clients: new Map(stored.clients.map((each) => [each.clientId, each])),
    users: new Map(stored.users.map((each) => [each.id, each])),
    webhooks: new Map(stored.webhooks.map((each) => [each.id, each])),
    endedSessions: new Map(stored.endedSessions.map(([userId, sessions]) => [userId, new Map(sessions)])),
  };
}
