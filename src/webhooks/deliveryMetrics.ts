/** Delivery metrics for Prometheus, by tenant and webhook. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { TenantDirectory } from '../commands/context.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { DeliveryBacklog, DeliveryQueries } from '../queries/deliveries.js';
import { singleFlight } from '../supervision/waiting.js';
import { type Endpoint, endpointKey } from './gate.js';

const LABELS = ['tenant', 'webhook'] as const;
const OUTCOMES = ['delivered', 'failed', 'gone', 'refused_address', 'timeout'] as const;
const DURATION_BUCKETS_SECONDS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20];

export type MetricsSource = {
  readonly directory: TenantDirectory;
  readonly queries: { readonly deliveries: Pick<DeliveryQueries, 'backlog'> };
};

type Labels = { readonly tenant: string; readonly webhook: string };

/**
 * Attempts, failures and circuits are this process's own. Open deliveries and disabled webhooks are the same in all
 * processes.
 */
export class DeliveryMetrics {
  readonly #attempts: Counter<'tenant' | 'webhook' | 'outcome'>;
  readonly #durations: Histogram<'tenant' | 'webhook'>;
  readonly #failed: Counter<'tenant' | 'webhook'>;
  readonly #openCircuits = new Set<string>();
  /** Webhooks for which there are series, by `endpointKey`. */
  #counted = new Map<string, Labels>();

  constructor(registry: Registry, { directory, queries }: MetricsSource) {
    const registers = [registry];
    const collect = (): void => this.#follow(directory);
    this.#attempts = new Counter({
      registers,
      name: 'webhook_attempts_total',
      help: 'Attempts by outcome; gone is an answer 410.',
      labelNames: [...LABELS, 'outcome'],
      collect,
    });
    this.#durations = new Histogram({
      registers,
      name: 'webhook_attempt_duration_seconds',
      help: 'Time from the begin of a call to the end of its answer, or to the time limit.',
      labelNames: LABELS,
      buckets: DURATION_BUCKETS_SECONDS,
      collect,
    });
    this.#failed = new Counter({
      registers,
      name: 'webhook_deliveries_failed_total',
      help: 'Deliveries that were given up after the last attempt.',
      labelNames: LABELS,
      collect,
    });
    registerBacklog(registry, queries.deliveries);
    registerStates(registry, directory, this.#openCircuits);
  }

  attempted({ tenant, webhookId: webhook }: Endpoint, result: AttemptResult): void {
    this.#count({ tenant, webhook });
    this.#attempts.inc({ tenant, webhook, outcome: outcomeOf(result) });
    this.#durations.observe({ tenant, webhook }, result.durationMs / 1000);
  }

  failedForGood({ tenant, webhookId: webhook }: Endpoint): void {
    this.#count({ tenant, webhook });
    this.#failed.inc({ tenant, webhook });
  }

  #count(labels: Labels): void {
    this.#counted.set(keyOf(labels), labels);
  }

  /** @param endpoint see `endpointKey` */
  circuitChanged(endpoint: string, isOpen: boolean): void {
    if (isOpen) this.#openCircuits.add(endpoint);
    else this.#openCircuits.delete(endpoint);
  }

  /**
   * Counters start at 0 for each webhook, since `increase` does not see the step from nothing to 1. Those of removed ones are
   * dropped: creating and removing webhooks would make the metrics grow without end.
   */
  #follow(directory: TenantDirectory): void {
    const present = new Map(webhooksOf(directory).map((labels) => [keyOf(labels), labels]));
    for (const [key, labels] of this.#counted) {
      if (present.has(key)) continue;
      for (const outcome of OUTCOMES) this.#attempts.remove({ ...labels, outcome });
      this.#durations.remove(labels);
      this.#failed.remove(labels);
      this.#openCircuits.delete(key);
    }
    this.#counted = present;
    for (const labels of present.values()) {
      for (const outcome of OUTCOMES) this.#attempts.inc({ ...labels, outcome }, 0);
      this.#failed.inc(labels, 0);
    }
  }
}

function registerStates(registry: Registry, directory: TenantDirectory, openCircuits: ReadonlySet<string>): void {
  const registers = [registry];
  new Gauge({
    registers,
    name: 'webhook_circuit_open',
    help: '1 while nothing but a probe now and then is sent to a webhook that keeps failing.',
    labelNames: LABELS,
    collect() {
      this.reset();
      for (const labels of webhooksOf(directory)) this.set(labels, openCircuits.has(keyOf(labels)) ? 1 : 0);
    },
  });
  new Gauge({
    registers,
    name: 'webhook_disabled',
    help: '1 for each webhook that is disabled, with the cause: admin, gone, failing.',
    labelNames: [...LABELS, 'cause'],
    collect() {
      this.reset();
      for (const { name: tenant, webhooks } of directory.tenants()) {
        for (const { id: webhook, disabled } of webhooks.values()) {
          if (disabled !== undefined) this.set({ tenant, webhook, cause: disabled.cause }, 1);
        }
      }
    },
  });
}

/**
 * Open deliveries, as the delivery log shows them. While the read models are away there are no figures rather than old
 * ones.
 */
function registerBacklog(registry: Registry, deliveries: Pick<DeliveryQueries, 'backlog'>): void {
  // One query for both gauges, since they are collected at the same time. `engine_up` reports that the rows are away.
  const backlog = singleFlight(() => deliveries.backlog().catch(() => []));
  const gauge = (name: string, help: string, value: (waiting: DeliveryBacklog) => number): void => {
    new Gauge({
      registers: [registry],
      name,
      help,
      labelNames: LABELS,
      async collect() {
        const waiting = await backlog();
        this.reset();
        for (const each of waiting) this.set({ tenant: each.tenant, webhook: each.webhookId }, value(each));
      },
    });
  };
  gauge('webhook_deliveries_open', 'Deliveries that are neither made nor given up.', ({ open }) => open);
  gauge('webhook_oldest_open_seconds', 'How long the oldest open delivery has been waiting.', (waiting) =>
    Math.max(0, (Date.now() - Date.parse(waiting.oldestRequestedAt)) / 1000),
  );
}

const keyOf = ({ tenant, webhook }: Labels): string => endpointKey({ tenant, webhookId: webhook });

const webhooksOf = (directory: TenantDirectory): Labels[] =>
  [...directory.tenants()].flatMap(({ name: tenant, webhooks }) =>
    [...webhooks.keys()].map((webhook) => ({ tenant, webhook })),
  );

function outcomeOf(result: AttemptResult): (typeof OUTCOMES)[number] {
  if (result.ok) return 'delivered';
  return result.status === 410 ? 'gone' : (result.cause ?? 'failed');
}
