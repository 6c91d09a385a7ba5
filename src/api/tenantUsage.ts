/**
 * What each tenant uses of its quotas. Figures from the log are in memory; those from rows are looked up in
 * the background while a tenant writes, so a request compares without waiting.
 */
import { LRUCache } from 'lru-cache';
import type { Tenant } from '../domain/identity/directory.js';
import { DISK_LOOKED_AT_EVERY_MS } from '../domain/limits.js';
import type { LogTally } from '../domain/logUsage.js';
import type { Quota, Quotas } from '../domain/quotas.js';
import type { RecordQueries } from '../queries/records.js';
import { singleFlight, withTimeout } from '../supervision/waiting.js';

/** Figures of tenants that are kept; the least recently used are forgotten. */
const MAX_KEPT_FIGURES = 20_000;

/** Milliseconds that such a figure may be old when it refuses a request. */
const QUOTA_CONFIRMED_WITHIN_MS = 100;

/** Milliseconds after which a figure that a quota is compared with is looked up again, while the tenant writes. */
const QUOTA_LOOKED_UP_EVERY_MS = 2_000;

type UsageSource = {
  /** Of this process's log. */
  readonly log: { readonly tally: LogTally };
  readonly queries: {
    readonly records: Pick<RecordQueries, 'tableFigures'>;
  };
  readonly directory: { tenant(name: string): Tenant | undefined };
  /** The installation's, for tenants without their own. */
  readonly quotas: Quotas;
};

/** A look-up is given up after this time, in milliseconds. */
const LOOK_LIMIT_MS = 3_000;

/** A figure that is looked up when it is asked for and too old. */
class Figure<Value> {
  /** Undefined before the first look-up, and while the rows cannot be read. */
  value: Value | undefined;
  #lookedUpAt = Number.NEGATIVE_INFINITY;
  readonly #lookUp: () => Promise<void>;

  constructor(find: () => Promise<Value>) {
    this.#lookUp = singleFlight(async () => {
      const looking = withTimeout(LOOK_LIMIT_MS, 'The rows cannot be read.', find());
      this.value = await looking.catch(() => undefined);
      this.#lookedUpAt = performance.now();
    });
  }

  /** The value now; begins a look-up if it is older than this. */
  latest(milliseconds: number): Value | undefined {
    if (performance.now() - this.#lookedUpAt > milliseconds) void this.#lookUp();
    return this.value;
  }

  /** Resolves when the value is not older than this. Never rejects. */
  async within(milliseconds: number): Promise<Value | undefined> {
    if (performance.now() - this.#lookedUpAt > milliseconds) await this.#lookUp();
    return this.value;
  }
}

export class TenantUsage {
  readonly #source: UsageSource;
  /** Records by tenant. */
  readonly #figures = new LRUCache<string, Figure<number>>({ max: MAX_KEPT_FIGURES });
  #grew: string | undefined;
  #grewAt = Number.NEGATIVE_INFINITY;

  constructor(source: UsageSource) {
    this.#source = source;
  }

  /** The tenant's own quota, or the installation's; 0: no limit. */
  limit({ quotas }: Pick<Tenant, 'quotas'>, quota: Quota): number {
    return quotas?.[quota] ?? this.#source.quotas[quota];
  }

  /** What is used as far as it is known now; undefined if it is not. Has it looked up again if it is old. */
  known({ name }: Pick<Tenant, 'name'>, quota: Quota): number | undefined {
    return quota === 'logBytes' ? this.inLog(name).bytes : this.#records(name).latest(QUOTA_LOOKED_UP_EVERY_MS);
  }

  /** The same without a look-up. */
  lastKnown({ name }: Pick<Tenant, 'name'>, quota: Quota): number | undefined {
    return quota === 'logBytes' ? this.inLog(name).bytes : this.#figures.peek(name)?.value;
  }

  /** What is used, at most a moment old; undefined while the rows cannot be read. */
  async now({ name }: Pick<Tenant, 'name'>, quota: Quota): Promise<number | undefined> {
    return quota === 'logBytes' ? this.inLog(name).bytes : this.#records(name).within(QUOTA_CONFIRMED_WITHIN_MS);
  }

  /** What the tenant has in the log. */
  inLog(tenant: string) {
    return this.#source.log.tally.of(tenant);
  }

  /** The tenant whose log grew most in the last hour, as of a moment ago. */
  largestGrower(): string | undefined {
    if (performance.now() - this.#grewAt > DISK_LOOKED_AT_EVERY_MS) {
      this.#grew = this.#source.log.tally.largestGrower(Date.now());
      this.#grewAt = performance.now();
    }
    return this.#grew;
  }

  #records(tenant: string): Figure<number> {
    const kept = this.#figures.get(tenant);
    if (kept !== undefined) return kept;
    const figure = new Figure(() => this.#count(tenant));
    this.#figures.set(tenant, figure);
    return figure;
  }

  async #count(name: string): Promise<number> {
    const { directory, queries } = this.#source;
    const tenant = directory.tenant(name);
    if (tenant === undefined) return 0;
    const tables = [...tenant.assetTypes.keys()].map((table) => ({ tenant: name, table }));
    return (await queries.records.tableFigures(tables)).reduce((sum, { records }) => sum + records, 0);
  }
}
