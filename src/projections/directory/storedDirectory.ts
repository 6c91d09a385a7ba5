/**
 * Stores the directory between starts, with its position in the log, as one file of JSON lines. Holds nothing that the log
 * does not: if it is missing, damaged or old, the start takes longer.
 */
import { readFile } from 'node:fs/promises';
import { setImmediate as turn } from 'node:timers/promises';
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { Session, Tenant, Webhook } from '../../domain/identity/directory.js';
import type { ApiClient, User } from '../../domain/identity/events.js';
import { onThisRelease, standardTables } from '../../domain/identity/tenantTables.js';
import type { EventPosition, EventStore } from '../../ports/eventStore.js';
import { errorCode, writeWhole } from '../../supervision/files.js';
import { singleFlight } from '../../supervision/waiting.js';

/**
 * Raise it when events evolve, or tenants are stored, differently: the directory is then built from the log. Changed
 * standard tables are no reason, since they are not stored.
 */
const TENANTS_VERSION = 10;

const STORED_EVERY_MS = 10_000;
/** Tenants that are written at once: some milliseconds. */
const TENANTS_AT_ONCE = 100;

/** The last line, so that a file that was cut off has none. */
type LastLine = EventPosition & { readonly version: number; readonly logId: string; readonly tenants: number };

/** Tenants as of a position in the log, by name. */
type KnownTenants = {
  readonly tenants: Map<string, Tenant>;
  readonly place: EventPosition;
};

export const nothingKnown = (): KnownTenants => ({ tenants: new Map(), place: { position: 0 } });

export class StoredDirectory {
  readonly #save: () => Promise<void>;
  #logId = '';
  #known = nothingKnown();
  #stored: EventPosition = this.#known.place;
  #timer: NodeJS.Timeout | undefined;

  /** @param onError called when it cannot be read or written; it is tried again */
  constructor(
    private readonly file: string,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#save = singleFlight(() => this.#write().catch(onError));
  }

  /** The stored directory if the log still holds its last event, else an empty one. @throws what the event store throws */
  async load(eventStore: Pick<EventStore, 'identity' | 'holds'>): Promise<KnownTenants> {
    this.#logId = await eventStore.identity();
    this.#timer = setInterval(() => void this.#save(), STORED_EVERY_MS).unref();
    const read = await this.#read();
    if (read === undefined || !(await eventStore.holds(read.place))) return this.#known;
    this.#stored = read.place;
    return read;
  }

  /** @param known the tenants, which are changed in place, and the position reached */
  reached(known: KnownTenants): void {
    this.#known = known;
  }

  /** Stores the rest. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    await this.#save();
    await this.#save();
  }

  async #read(): Promise<KnownTenants | undefined> {
    try {
      const lines = (await readFile(this.file, 'utf8')).split('\n');
      const { version, logId, tenants, ...place }: LastLine = JSON.parse(lines.pop() ?? '');
      if (version !== TENANTS_VERSION || logId !== this.#logId || tenants !== lines.length) return undefined;
      return { place, tenants: new Map(lines.map(tenantFrom).map((tenant) => [tenant.name, tenant])) };
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') this.onError(error);
      return undefined;
    }
  }

  /** Processes that share the file replace each other's. */
  async #write(): Promise<void> {
    const { place, tenants } = this.#known;
    if (place === this.#stored || place.position === 0) return;
    const last: LastLine = { ...place, version: TENANTS_VERSION, logId: this.#logId, tenants: tenants.size };
    await writeWhole(this.file, chunks([...tenants.values()], last));
    this.#stored = place;
  }
}

async function* chunks(tenants: readonly Tenant[], last: LastLine): AsyncGenerator<string> {
  for (let from = 0; from < tenants.length; from += TENANTS_AT_ONCE) {
    const some = tenants.slice(from, from + TENANTS_AT_ONCE);
    yield some.map((tenant) => `${tenantJson(tenant)}\n`).join('');
    await turn();
  }
  yield JSON.stringify(last);
}

/** A tenant whose maps are lists, in their order. Of the tables, only those that the tenant has made or added fields to. */
type TenantJson = Omit<Tenant, 'assetTypes' | 'clients' | 'users' | 'webhooks' | 'sessions'> & {
  readonly assetTypes: readonly AssetType[];
  readonly clients: readonly ApiClient[];
  readonly users: readonly User[];
  readonly webhooks: readonly Webhook[];
  readonly sessions: readonly (readonly [userId: number, sessions: readonly (readonly [string, Session])[]])[];
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
    sessions: [...tenant.sessions].map(([userId, sessions]) => [userId, [...sessions]]),
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
    sessions: new Map(stored.sessions.map(([userId, sessions]) => [userId, new Map(sessions)])),
  };
}
