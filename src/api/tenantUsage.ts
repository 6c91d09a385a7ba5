/** What each tenant uses, as its rows say: looked up in the background while it writes. */
import { LRUCache } from 'lru-cache';
import type { Tenant } from '../domain/identity/directory.js';
import type { Quota, Quotas } from '../domain/quotas.js';
import type { RowReads } from '../ports/rowStore.js';
import { recordsIn } from '../queries/records.js';
import { singleFlight, withTimeout } from '../supervision/waiting.js';

/** Tenants that are remembered; the least recently used are forgotten. */
const MAX_KEPT_FIGURES = 20_000;
/** Milliseconds that a figure may be old when it refuses a request. */
const QUOTA_CONFIRMED_WITHIN_MS = 100;
/** Milliseconds after which a figure that a quota is compared with is looked up again, while the tenant writes. */
const QUOTA_LOOKED_UP_EVERY_MS = 2_000;
/** A look-up is given up after this time, in milliseconds. */
const LOOK_LIMIT_MS = 3_000;
type UsageSource = {
  readonly rows: Pick<RowReads, 'progress' | 'spaces'>;
  /** The installation's, for tenants without their own. */
  readonly quotas: Quotas;
};

export type Used = {
  readonly logBytes: number;
  /** Undefined while its rows are not shown. */
  readonly records: number | undefined;
};

const ofQuota = ({ logBytes, records }: Used, quota: Quota): number | undefined =>
  quota === 'logBytes' ? logBytes : records;

/** A tenant's figures, which are looked up when they are asked for and too old. */
class Figures {
  /** Undefined before the first look-up, and while the rows cannot be read. */
  value: Used | undefined;
  lookedUpAt = Number.NEGATIVE_INFINITY;
  readonly #lookUp: () => Promise<void>;

  constructor(find: () => Promise<Used>) {
    this.#lookUp = singleFlight(async () => {
      const looking = withTimeout(LOOK_LIMIT_MS, 'The rows cannot be read.', find());
      this.value = await looking.catch(() => undefined);
      this.lookedUpAt = performance.now();
    });
  }

  /** Resolves when they are not older than this. Never rejects. */
  async within(milliseconds: number): Promise<Used | undefined> {
    if (performance.now() - this.lookedUpAt > milliseconds) await this.#lookUp();
    return this.value;
  }
}

export class TenantUsage {
  readonly #source: UsageSource;
  readonly #figures = new LRUCache<string, Figures>({ max: MAX_KEPT_FIGURES });

  constructor(source: UsageSource) {
    this.#source = source;
  }

  /** The tenant's own quota, or the installation's; 0: no limit. */
  limit({ quotas }: Pick<Tenant, 'quotas'>, quota: Quota): number {
    return quotas?.[quota] ?? this.#source.quotas[quota];
  }

  /** What is used as far as it is known now; undefined if it is not. Has it looked up again if it is old. */
  known({ name }: Pick<Tenant, 'name'>, quota: Quota): number | undefined {
    const figures = this.#of(name);
    void figures.within(QUOTA_LOOKED_UP_EVERY_MS);
    return figures.value && ofQuota(figures.value, quota);
  }

  /** What is used, at most a moment old; undefined while the rows cannot be read. */
  async now({ name }: Pick<Tenant, 'name'>, quota: Quota): Promise<number | undefined> {
    const used = await this.used(name);
    return used && ofQuota(used, quota);
  }

  /** All figures of the tenant, at most a moment old; undefined while the rows cannot be read. */
  used(tenant: string): Promise<Used | undefined> {
    return this.#of(tenant).within(QUOTA_CONFIRMED_WITHIN_MS);
  }

  #of(tenant: string): Figures {
    const kept = this.#figures.get(tenant);
    if (kept !== undefined) return kept;
    const figures = new Figures(() => this.#find(tenant));
    this.#figures.set(tenant, figures);
    return figures;
  }

  async #find(name: string): Promise<Used> {
    const { rows } = this.#source;
    const found = rows.spaces(name).then((each) => [...(each ?? [])]);
    const [spaces, progress] = await Promise.all([found.catch(() => undefined), rows.progress(name)]);
    return {
      logBytes: progress?.logBytes ?? 0,
      records: spaces && recordsIn(new Map(spaces)),
    };
  }
}
