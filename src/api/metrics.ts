/** Figures for Prometheus (text format 0.0.4). */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import type { ProjectionLag } from '../projector/projections.js';
import { singleFlight } from '../supervision/waiting.js';
import { TenantMetrics, type TenantNames } from './tenantMetrics.js';

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class ServiceMetrics {
  /** Other modules register their metrics here as well. */
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  /** By method, status and route. Cached, since prom-client's lookup by labels is slower. */
  readonly #series = new Map<string, Histogram.Internal<'method' | 'route' | 'status'>>();

  readonly tenants: TenantMetrics;

  /**
   * @param projectionLag how far each projection is behind the log
   * @param tenants names of all tenants, and how many of them have series of their own
   */
  constructor(
    projectionLag: () => Promise<readonly ProjectionLag[]>,
    tenants: { readonly names: TenantNames; readonly limit: number } = { names: () => [], limit: 0 },
  ) {
    this.tenants = new TenantMetrics(this.registry, tenants.limit, tenants.names);
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the request line to the end of the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers: [this.registry],
    });
    // Both gauges are collected at the same time and share one query. While an engine is down they show nothing rather
    // than old figures; engine_up says that it is down.
    const lags = singleFlight(() => projectionLag().catch(() => []));
    this.#registerLag('projection_lag_events', 'Events in the log that a projection has not applied yet.', async () =>
      (await lags()).map(({ name, behind }) => [name, behind]),
    );
    this.#registerLag(
      'projection_lag_seconds',
      'Age of the oldest event in the log that a projection has not applied yet.',
      async () => (await lags()).flatMap(({ name, seconds }) => (seconds === undefined ? [] : [[name, seconds]])),
    );
  }

  #registerLag(name: string, help: string, lags: () => Promise<readonly (readonly [string, number])[]>): void {
    new Gauge({
      name,
      help,
      labelNames: ['projection'],
      registers: [this.registry],
      async collect() {
        const found = await lags();
        this.reset();
        for (const [projection, lag] of found) this.set({ projection }, lag);
      },
    });
  }

  /** @param mount,route express path templates, which together name the route; both '' for unknown paths */
  observeRequest(method: string, mount: string, route: string, status: number, seconds: number): void {
    const template = mount + route;
    const key = `${method} ${status} ${template}`;
    let series = this.#series.get(key);
    if (series === undefined) {
      series = this.#requests.labels({ method, route: template === '' ? 'unmatched' : template, status });
      this.#series.set(key, series);
    }
    series.observe(seconds);
  }
}
