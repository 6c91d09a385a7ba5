/** Metrics for Prometheus (text format 0.0.4): of all requests, and of single tenants. */
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';

const DURATION_BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class ServiceMetrics {
  /** Other modules register their metrics here as well. */
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  /** By method, status and route. Cached, since prom-client's lookup by labels is slower. */
  readonly #series = new Map<string, Histogram.Internal<'method' | 'route' | 'status'>>();

  readonly tenants: TenantMetrics;

  /** @param tenants names of all tenants, and how many of them have series of their own */
  constructor(tenants: { readonly names: TenantNames; readonly limit: number } = { names: () => [], limit: 0 }) {
    this.tenants = new TenantMetrics(this.registry, tenants.limit, tenants.names);
    collectDefaultMetrics({ register: this.registry });
    registerLongTurns(this.registry);
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

const LOOK_EVERY_MS = 10;
/** A timer may be late by a millisecond or two without any reason. */
const LONG_TURN_MS = 5;

/** A timer is late by as long as the event loop was held, so each look sees the longest turn since the one before. */
function registerLongTurns(registry: Registry): void {
  const turns = new Histogram({
    name: 'event_loop_long_turns_seconds',
    help: 'Times of 5 ms or more for which the main thread did one thing only, and all others waited.',
    buckets: DURATION_BUCKETS_SECONDS,
    registers: [registry],
  });
  let due = performance.now() + LOOK_EVERY_MS;
  const look = (): void => {
    const now = performance.now();
    if (now - due >= LONG_TURN_MS) turns.observe((now - due) / 1000);
    due = now + LOOK_EVERY_MS;
  };
  setInterval(look, LOOK_EVERY_MS).unref();
}

/** Not a possible tenant name. */
export const OTHERS = '_other';
const SETTLED_EVERY_MS = 60_000;
const CLASSES = ['2xx', '3xx', '4xx', '5xx'] as const;
/** Why a sign-in or a token request was refused. */
const REFUSALS = ['wrong_credentials', 'too_many_wrong', 'too_many_sessions'] as const;
type Refusal = (typeof REFUSALS)[number];
const KINDS = ['user', 'client'] as const;
type Kind = (typeof KINDS)[number];

class Counts {
  readonly requests = [0, 0, 0, 0];
  requestBytes = 0;
  responseBytes = 0;
  events = 0;
  readonly refused = new Map<`${Kind} ${Refusal}`, number>();
}

/** Requests of a tenant; `refused` has a status 4xx, `failed` 5xx. */
export type Lately = { readonly requests: number; readonly refused: number; readonly failed: number };
const NONE_LATELY: Lately = { requests: 0, refused: 0, failed: 0 };
const LATELY_MS = 300_000;

/** @returns the names of all tenants */
type TenantNames = () => Iterable<string>;

export class TenantMetrics {
  readonly limit: number;
  readonly #names: TenantNames;
  readonly #now: () => number;
  readonly #own = new Map<string, Counts>();
  readonly #others = new Counts();
  /** Recent requests, halved every minute. */
  readonly #recent = new Map<string, number>();
  readonly #synchronized = new Map<string, number>();
  /** Requests in the five minutes that began at `since`, and in those before. */
  #lately = { since: 0, now: new Map<string, Lately>(), before: new Map<string, Lately>() };
  #settledAt: number;

  /**
   * @param limit number of tenants with series of their own
   * @param now monotonic clock, in milliseconds
   */
  constructor(registry: Registry, limit: number, names: TenantNames, now: () => number = () => performance.now()) {
    this.limit = limit;
    this.#names = names;
    this.#now = now;
    this.#settledAt = now();
    this.#register(registry);
  }

  /** @param requestBytes,responseBytes sizes of the bodies */
  answered(tenant: string, status: number, requestBytes: number, responseBytes: number): void {
    const counts = this.#of(tenant);
    const at = Math.min(Math.max(Math.floor(status / 100) - 2, 0), CLASSES.length - 1);
    counts.requests[at] = (counts.requests[at] ?? 0) + 1;
    counts.requestBytes += requestBytes;
    counts.responseBytes += responseBytes;
    this.#recent.set(tenant, (this.#recent.get(tenant) ?? 0) + 1);
    const { now } = this.#latelyNow();
    const { requests, refused, failed } = now.get(tenant) ?? NONE_LATELY;
    now.set(tenant, {
      requests: requests + 1,
      refused: refused + (status >= 400 && status < 500 ? 1 : 0),
      failed: failed + (status >= 500 ? 1 : 0),
    });
  }

  /** Answers of this process in the last five to ten minutes. */
  lately(tenant: string): Lately {
    const { now, before } = this.#latelyNow();
    const [one, other] = [now.get(tenant) ?? NONE_LATELY, before.get(tenant) ?? NONE_LATELY];
    return {
      requests: one.requests + other.requests,
      refused: one.refused + other.refused,
      failed: one.failed + other.failed,
    };
  }

  #latelyNow() {
    const age = this.#now() - this.#lately.since;
    if (age < LATELY_MS) return this.#lately;
    const before = age < 2 * LATELY_MS ? this.#lately.now : new Map<string, Lately>();
    this.#lately = { since: this.#now(), now: new Map(), before };
    return this.#lately;
  }

  appended(tenant: string, events: number): void {
    this.#of(tenant).events += events;
  }

  refused(tenant: string, kind: Kind, reason: Refusal): void {
    const { refused } = this.#of(tenant);
    refused.set(`${kind} ${reason}`, (refused.get(`${kind} ${reason}`) ?? 0) + 1);
  }

  /** Notes a batch, clean-up or commit, even one that changed nothing. */
  synchronized(tenant: string): void {
    this.#synchronized.set(tenant, Date.now());
  }

  /** Time of the tenant's last synchronisation in this process (milliseconds since 1970); 0 if there is none. */
  synchronizedAt(tenant: string): number {
    return this.#synchronized.get(tenant) ?? 0;
  }

  /** Tenants with series of their own. */
  shown(): ReadonlySet<string> {
    this.#settle();
    return new Set(this.#own.keys());
  }

  #of(tenant: string): Counts {
    const own = this.#own.get(tenant);
    if (own !== undefined) return own;
    if (this.#own.size >= this.limit) return this.#others;
    const made = new Counts();
    this.#own.set(tenant, made);
    return made;
  }

  #settle(): void {
    const names = new Set(this.#names());
    for (const known of [this.#own, this.#recent, this.#synchronized])
      for (const name of known.keys()) if (!names.has(name)) known.delete(name);
    // Every tenant's counters start at 0, since `increase` ignores the step from nothing to 1.
    for (const name of names) this.#of(name);
    if (names.size <= this.limit || this.#now() < this.#settledAt + SETTLED_EVERY_MS) return;
    this.#settledAt = this.#now();
    const weight = (name: string): number => (this.#recent.get(name) ?? 0) * (this.#own.has(name) ? 2 : 1);
    const busiest = [...names].sort((a, b) => weight(b) - weight(a)).slice(0, this.limit);
    // An idle tenant never takes another's series.
    const active = busiest.filter((name) => weight(name) > 0);
    const leaving = [...this.#own.keys()].filter((name) => !active.includes(name));
    for (const name of active) {
      if (this.#own.has(name)) continue;
      const left = leaving.pop();
      if (left !== undefined) this.#own.delete(left);
      this.#own.set(name, new Counts());
    }
    for (const [name, recent] of this.#recent) {
      if (recent < 1) this.#recent.delete(name);
      else this.#recent.set(name, recent / 2);
    }
  }

  #register(registry: Registry): void {
    const register = (
      name: string,
      help: string,
      labelNames: readonly string[],
      valuesOf: (counts: Counts) => readonly (readonly [labels: { readonly [label: string]: string }, value: number])[],
    ): void => {
      const series = () => [...[...this.shown()].map((tenant) => [tenant, this.#of(tenant)] as const), ...this.#rest()];
      new Counter({
        registers: [registry],
        name,
        help: `${help} As this process has seen it; tenants without series of their own are ${OTHERS}.`,
        labelNames: ['tenant', ...labelNames],
        collect() {
          this.reset();
          for (const [tenant, counts] of series())
            for (const [labels, value] of valuesOf(counts)) this.inc({ tenant, ...labels }, value);
        },
      });
    };
    register('tenant_requests_total', 'Requests by the class of their status.', ['status'], ({ requests }) =>
      CLASSES.map((status, at) => [{ status }, requests[at] ?? 0]),
    );
    register('tenant_request_bytes_total', 'Bytes of bodies that were sent with Content-Length.', [], (counts) => [
      [{}, counts.requestBytes],
    ]);
    register('tenant_response_bytes_total', 'Bytes of the bodies of answers, compressed or not.', [], (counts) => [
      [{}, counts.responseBytes],
    ]);
    register('tenant_events_total', 'Events that were appended to the log.', [], ({ events }) => [[{}, events]]);
    register('sign_ins_refused_total', 'Sign-ins and token requests that were refused.', ['kind', 'reason'], (counts) =>
      KINDS.flatMap((kind) =>
        REFUSALS.map((reason) => [{ kind, reason }, counts.refused.get(`${kind} ${reason}`) ?? 0] as const),
      ).filter(([{ kind, reason }]) => kind === 'user' || reason !== 'too_many_sessions'),
    );
  }

  /** OTHERS is left out while it has counted nothing. */
  #rest(): readonly (readonly [string, Counts])[] {
    const isUsed = this.#others.requests.some((count) => count > 0) || this.#others.events > 0;
    return isUsed || this.#others.refused.size > 0 ? [[OTHERS, this.#others]] : [];
  }
}
