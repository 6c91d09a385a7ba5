/** Delivery metrics for Prometheus, by tenant and webhook. */
import { Counter, Gauge, Histogram, type Registry } from 'prom-client';
import type { TenantDirectory } from '../commands/context.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { DeliveryBacklog, DeliveryQueries } from '../queries/deliveries.js';
import { type Endpoint, endpointKey } from './dispatcher.js';

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
  /** Webhooks for which the counters have series. */
  readonly #counted = new Map<string, Labels>();

  constructor(registry: Registry, source: MetricsSource) {
    const registers = [registry];
    const forgetRemoved = (): void => this.#forgetRemoved(source.directory);
    this.#attempts = new Counter({
      registers,
      name: 'webhook_attempts_total',
      help: 'Attempts by outcome; gone is an answer 410.',
      labelNames: [...LABELS, 'outcome'],
      collect: () => {
        forgetRemoved();
        for (const labels of webhooksOf(source.directory)) {
          this.#count(labels);
          for (const outcome of OUTCOMES) this.#attempts.inc({ ...labels, outcome }, 0);
        }
      },
    });
    this.#durations = new Histogram({
      registers,
      name: 'webhook_attempt_duration_seconds',
      help: 'Time from the begin of a call to the end of its answer, or to the time limit.',
      labelNames: LABELS,
      buckets: DURATION_BUCKETS_SECONDS,
      collect: forgetRemoved,
    });
    this.#failed = new Counter({
      registers,
      name: 'webhook_deliveries_failed_total',
      help: 'Deliveries that were given up after the last attempt.',
      labelNames: LABELS,
      collect: () => {
        forgetRemoved();
        for (const labels of webhooksOf(source.directory)) {
          this.#count(labels);
          this.#failed.inc(labels, 0);
        }
      },
    });
    registerBacklog(registry, source.queries.deliveries);
    this.#registerStates(registry, source.directory);
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
    this.#counted.set(endpointKey({ tenant: labels.tenant, webhookId: labels.webhook }), labels);
  }

  /** Without this, creating and removing webhooks would make the metrics grow without end. */
  #forgetRemoved(directory: TenantDirectory): void {
    for (const [endpoint, { tenant, webhook }] of this.#counted) {
      if (directory.tenant(tenant)?.webhooks.has(webhook) === true) continue;
      for (const outcome of OUTCOMES) this.#attempts.remove({ tenant, webhook, outcome });
      this.#durations.remove({ tenant, webhook });
      this.#failed.remove({ tenant, webhook });
      this.#openCircuits.delete(endpoint);
      this.#counted.delete(endpoint);
    }
  }

  /** @param endpoint see `endpointKey` */
  circuitChanged(endpoint: string, isOpen: boolean): void {
    if (isOpen) this.#openCircuits.add(endpoint);
    else this.#openCircuits.delete(endpoint);
  }

  #registerStates(registry: Registry, directory: TenantDirectory): void {
    const openCircuits = this.#openCircuits;
    new Gauge({
      registers: [registry],
      name: 'webhook_circuit_open',
      help: '1 while nothing but a probe now and then is sent to a webhook that keeps failing.',
      labelNames: LABELS,
      collect() {
        this.reset();
        for (const labels of webhooksOf(directory)) {
          const isOpen = openCircuits.has(endpointKey({ tenant: labels.tenant, webhookId: labels.webhook }));
          this.set(labels, isOpen ? 1 : 0);
        }
      },
    });
    new Gauge({
      registers: [registry],
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
}

/**
 * Open deliveries, as the delivery log shows them. While the read models are away there are no figures rather than old
 * ones.
 */
function registerBacklog(registry: Registry, deliveries: Pick<DeliveryQueries, 'backlog'>): void {
  // One query for both gauges, since they are collected at the same time.
  let asked: Promise<readonly DeliveryBacklog[]> | undefined;
  const backlog = (): Promise<readonly DeliveryBacklog[]> => {
    asked ??= deliveries
      .backlog()
      // The `engine_up` metric reports that the read models are away.
      .catch(() => [])
      .finally(() => {
        asked = undefined;
      });
    return asked;
  };
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

/** Counters start at 0 for each webhook, since `increase` does not see the step from nothing to 1. */
const webhooksOf = (directory: TenantDirectory): Labels[] =>
  [...directory.tenants()].flatMap(({ name: tenant, webhooks }) =>
    [...webhooks.keys()].map((webhook) => ({ tenant, webhook })),
  );

function outcomeOf(result: AttemptResult): (typeof OUTCOMES)[number] {
  if (result.ok) return 'delivered';
  return result.status === 410 ? 'gone' : (result.cause ?? 'failed');
}
