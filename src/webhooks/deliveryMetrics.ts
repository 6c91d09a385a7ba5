/** Delivery metrics for Prometheus, by tenant and webhook. */
import { Counter, type Registry } from 'prom-client';
import type { TenantDirectory } from '../commands/context.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { DeliveryQueries } from '../queries/deliveries.js';
import { registerGauges, type Values } from '../supervision/gauges.js';
import { type Endpoint, endpointKey } from './gate.js';

const LABELS = ['tenant', 'webhook'] as const;
const OUTCOMES = ['delivered', 'failed', 'gone', 'refused_address', 'timeout'] as const;

type MetricsSource = {
  readonly directory: TenantDirectory;
  readonly queries: { readonly deliveries: DeliveryQueries };
};

const labelsOf = ({ tenant, webhookId }: Endpoint) => ({ tenant, webhook: webhookId });

/**
 * Attempts and failures are this process's own. Open deliveries and disabled webhooks are the same in all
 * processes.
 */
export class DeliveryMetrics {
  readonly #attempts: Counter<'tenant' | 'webhook' | 'outcome'>;
  readonly #failed: Counter<'tenant' | 'webhook'>;
  /** Webhooks for which there are series. */
  #counted: ReadonlyMap<string, Known> = new Map();

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
    this.#failed = new Counter({
      registers,
      name: 'webhook_deliveries_failed_total',
      help: 'Deliveries that were given up after the last attempt.',
      labelNames: LABELS,
      collect,
    });
    registerGauges(registry, {
      webhook_disabled: [
        '1 while it is disabled; the cause is admin, gone or failing.',
        () =>
          [...webhooksOf(directory).values()].flatMap(
            ({ labels, cause }): Values => (cause === undefined ? [] : [[{ ...labels, cause }, 1]]),
          ),
        ...LABELS,
        'cause',
      ],
      // None while the rows are away, which `engine_up` reports.
      webhook_oldest_open_seconds: [
        'How long the oldest open delivery has been waiting.',
        async () =>
          (await queries.deliveries.oldestOpen(directory.tenants())).map(({ requestedAt, ...endpoint }) => [
            labelsOf(endpoint),
            Math.max(0, (Date.now() - Date.parse(requestedAt)) / 1000),
          ]),
        ...LABELS,
      ],
    });
  }

  attempted(endpoint: Endpoint, result: AttemptResult): void {
    this.#attempts.inc({ ...labelsOf(endpoint), outcome: outcomeOf(result) });
  }

  failedForGood(endpoint: Endpoint): void {
    this.#failed.inc(labelsOf(endpoint));
  }

  /**
   * Counters start at 0 for each webhook, since `increase` does not see the step from nothing to 1. Those of removed ones are
   * dropped: creating and removing webhooks would make the metrics grow without end.
   */
  #follow(directory: TenantDirectory): void {
    const present = webhooksOf(directory);
    for (const [key, { labels }] of this.#counted) {
      if (present.has(key)) continue;
      for (const outcome of OUTCOMES) this.#attempts.remove({ ...labels, outcome });
      this.#failed.remove(labels);
    }
    for (const { labels } of present.values()) {
      for (const outcome of OUTCOMES) this.#attempts.inc({ ...labels, outcome }, 0);
      this.#failed.inc(labels, 0);
    }
    this.#counted = present;
  }
}

type Known = { readonly labels: ReturnType<typeof labelsOf>; readonly cause: string | undefined };

/** All webhooks, by `endpointKey`. */
const webhooksOf = (directory: TenantDirectory): ReadonlyMap<string, Known> =>
  new Map(
    [...directory.tenants()].flatMap(({ name: tenant, webhooks }) =>
      [...webhooks.values()].map(({ id: webhookId, disabled }): [string, Known] => {
        const endpoint = { tenant, webhookId };
        return [endpointKey(endpoint), { labels: labelsOf(endpoint), cause: disabled?.cause }];
      }),
    ),
  );

function outcomeOf(result: AttemptResult): (typeof OUTCOMES)[number] {
  if (result.ok) return 'delivered';
  return result.status === 410 ? 'gone' : (result.cause ?? 'failed');
}
