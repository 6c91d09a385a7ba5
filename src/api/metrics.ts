/** Metrics for Prometheus (text format 0.0.4): of all requests, and of single tenants. */
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** @returns the names of all tenants */
type TenantNames = () => Iterable<string>;

export class ServiceMetrics {
  /** Other modules register their metrics here as well. */
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly tenants: TenantMetrics;

  constructor(names: TenantNames = () => []) {
    this.tenants = new TenantMetrics(this.registry, names);
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the request line to the end of the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers: [this.registry],
    });
  }

  /** @param mount,route express path templates, which together name the route; both '' for unknown paths */
  observeRequest(method: string, mount: string, route: string, status: number, seconds: number): void {
    this.#requests.observe({ method, route: mount + route || 'unmatched', status }, seconds);
  }
}

/** Tenants with series of their own; those of more would take a scrape too long. */
const MAX_SHOWN_TENANTS = 1_000;
/** Not a possible tenant name: all tenants without series of their own. */
const OTHERS = '_other';
const CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const;
export class TenantMetrics {
  readonly #names: TenantNames;
  readonly #own = new Set<string>();
  readonly #requests: Counter<'tenant' | 'status'>;

  constructor(registry: Registry, names: TenantNames) {
    this.#names = names;
    this.#requests = new Counter({
      registers: [registry],
      name: 'tenant_requests_total',
      help: `Requests by the class of their status. As this process has seen it; tenants without series of their own are ${OTHERS}.`,
      labelNames: ['tenant', 'status'],
      // All tenants are in each scrape, from 0 on: `increase` ignores the step from nothing to 1.
      collect: () => void this.shown(),
    });
  }

  answered(tenant: string, status: number): void {
    const at = Math.min(Math.max(Math.floor(status / 100) - 2, 0), CLASSES.length - 1);
    this.#requests.inc({ tenant: this.#seriesOf(tenant), status: CLASSES[at] ?? '5xx' });
  }

  /** Tenants with series of their own. */
  shown(): ReadonlySet<string> {
    const names = new Set(this.#names());
    for (const name of this.#own) if (!names.has(name)) this.#forget(name);
    for (const name of names) this.#seriesOf(name);
    return this.#own;
  }

  #seriesOf(tenant: string): string {
    if (this.#own.has(tenant)) return tenant;
    if (this.#own.size >= MAX_SHOWN_TENANTS) return OTHERS;
    this.#own.add(tenant);
    for (const status of CLASSES) this.#requests.inc({ tenant, status }, 0);
    return tenant;
  }

  #forget(tenant: string): void {
    this.#own.delete(tenant);
    for (const status of CLASSES) this.#requests.remove({ tenant, status });
  }
}
