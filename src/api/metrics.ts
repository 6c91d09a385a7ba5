/** Figures for Prometheus (text format 0.0.4). */
import { collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Events each projection is behind the log, by its name. */
export type ProjectionLag = () => Promise<ReadonlyMap<string, number>>;

export class ServiceMetrics {
  /** More metrics may be registered here. */
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;

  constructor(projectionLag: ProjectionLag) {
    collectDefaultMetrics({ register: this.registry });
    this.#requests = new Histogram({
      name: 'http_request_duration_seconds',
      help: 'Time from the request line to the end of the answer.',
      labelNames: ['method', 'route', 'status'],
      buckets: DURATION_BUCKETS_SECONDS,
      registers: [this.registry],
    });
    new Gauge({
      name: 'projection_lag_events',
      help: 'Events in the log that a projection has not applied yet.',
      labelNames: ['projection'],
      registers: [this.registry],
      async collect() {
        // While an engine is away there are no figures, rather than old ones; that it is away is told by engine_up.
        const lags = await projectionLag().catch(() => new Map<string, number>());
        this.reset();
        for (const [projection, lag] of lags) this.set({ projection }, lag);
      },
    });
  }

  /** @param mount,route express path templates; together they name the route. Both '' for unknown paths. */
  observeRequest(method: string, mount: string, route: string, status: number, seconds: number): void {
    const template = mount + route;
    this.#requests.observe({ method, route: template === '' ? 'unmatched' : template, status }, seconds);
  }
}
