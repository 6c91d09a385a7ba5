/** Metrics for Prometheus (text format 0.0.4) of all requests, and what the registry said each minute of the last day. */
import { existsSync, readFileSync } from 'node:fs';
import type { Logger } from 'pino';
import { collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { z } from 'zod';
import { writeWhole } from '../supervision/files.js';
import { singleFlight } from '../supervision/waiting.js';

/** Of Node's metrics, those that no chart, alert or guide asks for. */
const UNUSED = /^nodejs_(active_|heap_space_|eventloop_lag_(min|mean|stddev|p50|p90))|^process_(virtual|heap)_/;
const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Shown for what took longer. */
const BEYOND_SECONDS = 30;
const SAMPLED_EACH_MS = 60_000;
/** In the data directory: the points of the last day, one a minute. */
export const HISTORY_FILE = 'history.json';

const figure = z.number().nullable().default(null);
export const point = z.object({
  at: z.iso.datetime(),
  stored_per_second: figure.describe('Positions of the log.'),
  requests_per_second: figure,
  errors_per_second: figure,
  p99_ms: figure.describe('What 99 of 100 requests took at most.'),
  lag: figure.describe('Positions of the log that the rows lack.'),
  deliveries_waiting: figure,
  disk_free_bytes: figure,
  backup_age_seconds: figure,
});
type Point = z.output<typeof point>;

export class ServiceMetrics {
  /** Other modules register their metrics here as well. */
  readonly registry = new Registry();
  /** Takes milliseconds: hundreds that ask at once would stop all others for seconds. */
  readonly text = singleFlight(() => this.registry.metrics());
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  #points: readonly Point[] = [];
  #last: Sample | undefined;
  #watched: { readonly file: string; readonly timer: NodeJS.Timeout } | undefined;

  constructor() {
    collectDefaultMetrics({ register: this.registry });
    for (const { name } of this.registry.getMetricsAsArray())
      if (UNUSED.test(name)) this.registry.removeSingleMetric(name);
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

  /** Begins to take samples, once the others have registered. @param file is written each minute */
  async watch(file: string, log: Logger): Promise<void> {
    try {
      const kept = z.array(point).parse(JSON.parse(existsSync(file) ? readFileSync(file, 'utf8') : '[]'));
      this.#points = kept.length === 0 ? [] : [...kept, point.parse({ at: new Date().toISOString() })];
    } catch (err) {
      log.warn({ err, file }, 'the charts of the time before cannot be read, and begin again');
    }
    this.#last = await sampleOf(this.registry);
    this.#watched = { file, timer: setInterval(() => void this.#sample(file), SAMPLED_EACH_MS).unref() };
  }

  async stop(): Promise<void> {
    clearInterval(this.#watched?.timer);
    if (this.#watched !== undefined) await this.#sample(this.#watched.file);
  }

  async #sample(file: string): Promise<void> {
    this.#points = await this.history(1_440);
    this.#last = await sampleOf(this.registry);
    await writeWhole(file, JSON.stringify(this.#points)).catch(() => undefined);
  }

  async history(minutes: number): Promise<readonly Point[]> {
    const now = this.#last === undefined ? [] : [pointOf(this.#last, await sampleOf(this.registry))];
    const from = new Date(Date.now() - minutes * SAMPLED_EACH_MS).toISOString();
    return [...this.#points, ...now].filter(({ at }) => at > from).slice(-minutes);
  }
}

type Value = { readonly value: number; readonly labels: { readonly [label: string]: unknown } };

/** None while the process has no such metric, or cannot find its values. */
const valuesOf = async (registry: Registry, name: string): Promise<readonly Value[]> =>
  (await registry.getSingleMetric(name)?.get())?.values ?? [];

/** Neither clients nor people ask for these: probes, and what operators look at. */
const NOT_COUNTED = /^\/(?:health|metrics|api\/v1\/operator)\b/;

/** Figures of now, null for what this process does not know, and requests since the start. */
async function sampleOf(registry: Registry) {
  const sum = async (name: string, isMeant: (value: Value) => boolean = () => true): Promise<number | null> => {
    const found = (await valuesOf(registry, name)).filter(isMeant);
    return found.length === 0 ? null : found.reduce((total, { value }) => total + value, 0);
  };
  /** By what they took at most, in seconds; `+Inf`: all of them; `5xx`: those with an error of the service. */
  const requests = new Map<unknown, number>();
  for (const { value, labels } of await valuesOf(registry, 'http_request_duration_seconds')) {
    const { le, route, status } = labels;
    if (le === undefined || NOT_COUNTED.test(String(route))) continue;
    for (const key of le === '+Inf' && Number(status) >= 500 ? [le, '5xx'] : [le])
      requests.set(key, (requests.get(key) ?? 0) + value);
  }
  const backupAt = await sum('backup_last_timestamp_seconds');
  const figures = {
    lag: await sum('projection_lag_events'),
    deliveries_waiting: await sum('queue_messages', ({ labels }) => labels.state !== 'in_work'),
    disk_free_bytes: await sum('data_directory_free_bytes'),
    backup_age_seconds: backupAt ? Math.max(0, Date.now() / 1_000 - backupAt) : null,
  };
  return { atMs: Date.now(), position: await sum('event_log_position'), requests, figures };
}

type Sample = Awaited<ReturnType<typeof sampleOf>>;

function pointOf(before: Sample, { atMs, position, requests, figures }: Sample): Point {
  const seconds = Math.max(1, (atMs - before.atMs) / 1_000);
  const more = (key: unknown): number => (requests.get(key) ?? 0) - (before.requests.get(key) ?? 0);
  const all = more('+Inf');
  const p99 = DURATION_BUCKETS_SECONDS.find((le) => more(le) >= 0.99 * all) ?? BEYOND_SECONDS;
  return {
    at: new Date(atMs).toISOString(),
    stored_per_second: position === null || before.position === null ? null : (position - before.position) / seconds,
    requests_per_second: all / seconds,
    errors_per_second: more('5xx') / seconds,
    p99_ms: all === 0 ? null : 1_000 * p99,
    ...figures,
  };
}
