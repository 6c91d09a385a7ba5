/** Metrics for Prometheus (text format 0.0.4) of all requests. */
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class ServiceMetrics {
  /** Other modules register their metrics here as well. */
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;

  constructor() {
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
