/** What each tenant uses, as its rows say: looked up in the background while it writes. */
import { LRUCache } from 'lru-cache';
import type { Tenant } from '../domain/identity/directory.js';
import type { Quota, Quotas } from '../domain/quotas.js';
import { keepsPast } from '../domain/spaces.js';
import type { RowReads } from '../ports/rowStore.js';
import { withTimeout } from '../supervision/deadline.js';
import { singleFlight } from '../supervision/waiting.js';

/** Tenants that are remembered; the least recently used are forgotten. */
const MAX_KEPT_FIGURES = 20_000;
/** Milliseconds that a figure may be old when it refuses a request. */
const QUOTA_CONFIRMED_WITHIN_MS = 100;
/** Milliseconds after which a figure that a quota is compared with is looked up again, while the tenant writes. */
const QUOTA_READ_EVERY_MS = 2_000;
/** A read is given up after this time, in milliseconds. */
const READ_LIMIT_MS = 3_000;

/** Undefined while its rows cannot be read. */
type Used = { readonly [quota in Quota]: number | undefined };

type Figures = { used?: Used | undefined; readAt: number; readonly read: () => Promise<void> };

export class TenantUsage {
  readonly #figures = new LRUCache<string, Figures>({ max: MAX_KEPT_FIGURES });

  /** @param quotas the installation's, for tenants without their own */
  constructor(
    private readonly rows: Pick<RowReads, 'progress' | 'spaces'>,
    private readonly quotas: Quotas,
  ) {}

  /** The tenant's own quota, or the installation's; 0: no limit. */
  limit({ quotas }: Pick<Tenant, 'quotas'>, quota: Quota): number {
    return quotas?.[quota] ?? this.quotas[quota];
  }

  /** What is used, at most a moment old. Never rejects. */
  async used(tenant: string): Promise<Used | undefined> {
    const figures = this.#of(tenant);
    if (performance.now() - figures.readAt > QUOTA_CONFIRMED_WITHIN_MS) await figures.read();
    return figures.used;
  }

  /** The first of these quotas of which this share is used up. Usually figures in memory suffice; before it is named they are read. */
  async usedUp(tenant: Pick<Tenant, 'name' | 'quotas'>, quotas: readonly Quota[], share: number) {
    const over = (used: Used | undefined) =>
      quotas
        .map((quota) => ({ quota, limit: this.limit(tenant, quota), used: used?.[quota] ?? 0 }))
        .find(({ limit, used: own }) => limit > 0 && own >= share * limit);
    const figures = this.#of(tenant.name);
    if (performance.now() - figures.readAt > QUOTA_READ_EVERY_MS) void figures.read();
    return over(figures.used) && over(await this.used(tenant.name));
  }

  #of(tenant: string): Figures {
    const kept = this.#figures.get(tenant);
    if (kept !== undefined) return kept;
    const read = singleFlight(async () => {
      const reading = withTimeout(READ_LIMIT_MS, 'The rows cannot be read.', this.#find(tenant));
      figures.used = await reading.catch(() => undefined);
      figures.readAt = performance.now();
    });
    const figures: Figures = { readAt: Number.NEGATIVE_INFINITY, read };
    this.#figures.set(tenant, figures);
    return figures;
  }

  async #find(tenant: string): Promise<Used> {
    const found = this.rows.spaces(tenant).then((each) => [...(each ?? [])].filter(([name]) => keepsPast(name)));
    const [tables, progress] = await Promise.all([found.catch(() => undefined), this.rows.progress(tenant)]);
    const records = tables?.reduce((sum, [, { state }]) => sum + state.rows, 0);
    return { logBytes: progress?.logBytes ?? 0, records };
  }
}
