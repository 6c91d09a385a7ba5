/** Metrics of tenants from the rows: number of records, and time of the last synchronisation. */
import { OTHERS, type TenantMetrics } from '../api/metrics.js';
import type { Tenant } from '../domain/identity/directory.js';
import type { RecordQueries, TableRef } from '../queries/records.js';
import { singleFlight, withTimeout } from '../supervision/waiting.js';

/** Tenants whose tables one scrape of /metrics counts; if there are more, scrapes take turns. */
const MAX_TENANTS_LOOKED_AT = 100;

type Source = {
  readonly directory: { tenants(): Iterable<Tenant> };
  readonly queries: { readonly records: Pick<RecordQueries, 'tableFigures'> };
  readonly metrics: TenantMetrics;
};

/** As of the last query. `lookedAt` is on the clock of `performance.now()`. */
type Figures = { readonly records: number; readonly lastChangeAt: number; readonly refreshedAt: number };

/** Tenants in one query, so that lists can go between. */
const TENANTS_AT_ONCE = 25;
/** Callers within this time, in milliseconds, get the same figures. */
const LOOK_AGAIN_MS = 1_000;
const LOOK_LIMIT_MS = 3_000;
/** A tenant that has not synchronised for this long is shown only if there is room. */
const OVERDUE_MS = 30 * 86_400_000;

/** Queries MAX_TENANTS_LOOKED_AT tenants each time, starting with those queried longest ago. */
export class TenantFigures {
  readonly #source: Source;
  readonly #known = new Map<string, Figures>();
  #refreshedAt = Number.NEGATIVE_INFINITY;
  readonly #refresh = singleFlight(() => this.#refreshNow());

  constructor(source: Source) {
    this.#source = source;
  }

  /** Records by tenant, and of all others together. Empty while the rows are away, rather than old. */
  async records(): Promise<readonly (readonly [tenant: string, records: number])[]> {
    await this.#refresh();
    const shown = this.#source.metrics.shown();
    const own = [...this.#known].flatMap(([tenant, { records }]) =>
      shown.has(tenant) ? [[tenant, records] as const] : [],
    );
    if (this.#known.size <= own.length) return own;
    const others = [...this.#known].reduce(
      (sum, [tenant, { records }]) => (shown.has(tenant) ? sum : sum + records),
      0,
    );
    return [...own, [OTHERS, others]];
  }

  /** When tenants last synchronised (milliseconds since 1970). Of too many, those overdue longest. */
  async synchronized(): Promise<readonly (readonly [tenant: string, at: number])[]> {
    await this.#refresh();
    const { metrics } = this.#source;
    const all = [...this.#known.keys()]
      .map((tenant) => [tenant, this.#lastSync(tenant)] as const)
      .filter(([, at]) => at > 0)
      .sort(([, a], [, b]) => a - b);
    const since = Date.now() - OVERDUE_MS;
    const late = all.length <= metrics.limit ? all : all.filter(([, at]) => at > since);
    return late.slice(0, metrics.limit);
  }

  #lastSync(tenant: string): number {
    return Math.max(this.#known.get(tenant)?.lastChangeAt ?? 0, this.#source.metrics.synchronizedAt(tenant));
  }

  async #refreshNow(): Promise<void> {
    if (performance.now() < this.#refreshedAt + LOOK_AGAIN_MS) return;
    try {
      await withTimeout(LOOK_LIMIT_MS, `no answer within ${LOOK_LIMIT_MS} ms`, this.#query());
      this.#refreshedAt = performance.now();
    } catch {
      // engine_up reports it.
      this.#known.clear();
    }
  }

  async #query(): Promise<void> {
    const { directory, queries } = this.#source;
    const tenants = new Map([...directory.tenants()].map((tenant) => [tenant.name, tenant]));
    for (const name of this.#known.keys()) if (!tenants.has(name)) this.#known.delete(name);
    const before = (name: string): number => this.#known.get(name)?.refreshedAt ?? Number.NEGATIVE_INFINITY;
    const next = [...tenants.values()].sort((a, b) => (before(a.name) < before(b.name) ? -1 : 1));
    for (let at = 0; at < Math.min(next.length, MAX_TENANTS_LOOKED_AT); at += TENANTS_AT_ONCE) {
      const some = next.slice(at, Math.min(at + TENANTS_AT_ONCE, MAX_TENANTS_LOOKED_AT));
      const found = await queries.records.tableFigures(some.flatMap(tablesOf));
      const sums = new Map(some.map(({ name }) => [name, { records: 0, lastChangeAt: 0 }]));
      for (const { tenant, table, records, lastEventAt } of found) {
        const sum = sums.get(tenant);
        if (sum === undefined) continue;
        sum.records += records;
        const isReference = tenants.get(tenant)?.assetTypes.get(table)?.role === 'reference';
        if (isReference && lastEventAt !== '') sum.lastChangeAt = Math.max(sum.lastChangeAt, Date.parse(lastEventAt));
      }
      for (const [name, sum] of sums) this.#known.set(name, { ...sum, refreshedAt: performance.now() });
    }
  }
}

const tablesOf = ({ name: tenant, assetTypes }: Tenant): readonly TableRef[] =>
  [...assetTypes.keys()].map((table) => ({ tenant, table }));
