/** Webhook jobs that wait, and receivers with trouble: `/api/v1/operator/queues` and `/receivers`. */
import type { Tenant } from '../../domain/identity/directory.js';
import { MAX_ENTRIES } from '../../domain/limits.js';
import type { DeliveryBacklog, WebhookHealth } from '../../queries/deliveries.js';
import { endpointKey } from '../../webhooks/gate.js';
import type { Api } from '../deps.js';
import { unavailable } from '../errors.js';
import * as json from '../openapi/schema.js';
import { dataReply, type Resource } from '../routes/operation.js';
import type { QueueView } from './parts.js';

const queueView = json.view<QueueView>({
  name: json.text,
  ready: json.count,
  delayed: json.count,
  in_flight: json.count,
});

type Webhook = NonNullable<ReturnType<Tenant['webhooks']['get']>>;
type Receiver = {
  readonly tenant: string;
  readonly webhook: Webhook;
  readonly backlog: DeliveryBacklog | undefined;
  readonly health: WebhookHealth;
  readonly circuitOpen: boolean;
};

const receiverView = json.view<Receiver>({
  tenant: json.text,
  webhook_id: [json.text, ({ webhook }) => webhook.id],
  name: [json.text, ({ webhook }) => webhook.name],
  host: [json.text, ({ webhook }) => hostOf(webhook)],
  disabled: [json.nullableText, ({ webhook }) => webhook.disabled?.cause ?? null],
  circuit_open: json.truth,
  open: [json.count, ({ backlog }) => backlog?.open ?? 0],
  oldest_at: [{ type: ['string', 'null'], format: 'date-time' }, ({ backlog }) => backlog?.oldestRequestedAt ?? null],
  failing_since: [{ type: ['string', 'null'], format: 'date-time' }, ({ health }) => health.failingSince ?? null],
  last_success_at: [{ type: ['string', 'null'], format: 'date-time' }, ({ health }) => health.lastSuccessAt ?? null],
});

const hostOf = ({ url }: Webhook): string => (URL.canParse(url) ? new URL(url).host : '');

/** Those with an open circuit; those that wait longest; those that the service has disabled. */
async function troubled({ queries, directory, operator }: Api): Promise<readonly Receiver[]> {
  const [circuits, found] = await Promise.all([operator.openCircuits(), queries.deliveries.backlog()]);
  const backlogs = new Map(found.map((each) => [endpointKey(each), each]));
  const oldest = ({ backlog }: { readonly backlog: DeliveryBacklog | undefined }) => backlog?.oldestRequestedAt ?? '9';
  const rank = ({ circuitOpen, webhook }: Pick<Receiver, 'circuitOpen' | 'webhook'>): number =>
    circuitOpen ? 0 : webhook.disabled === undefined ? 1 : 2;
  const candidates = [...directory.tenants()]
    .flatMap(({ name: tenant, webhooks }) =>
      [...webhooks.values()].map((webhook) => {
        const key = endpointKey({ tenant, webhookId: webhook.id });
        return { tenant, webhook, backlog: backlogs.get(key), circuitOpen: circuits.has(key) };
      }),
    )
    .filter(({ webhook: { disabled }, backlog, circuitOpen }) =>
      disabled === undefined
        ? circuitOpen || backlog !== undefined
        : disabled.cause !== 'admin' || backlog !== undefined,
    )
    .sort((a, b) => rank(a) - rank(b) || (oldest(a) < oldest(b) ? -1 : 1))
    .slice(0, MAX_ENTRIES);
  const receivers = await Promise.all(
    candidates.map(async (each) => ({
      ...each,
      health: await queries.deliveries.healthOf(each.tenant, each.webhook.id),
    })),
  );
  return receivers.filter(
    ({ health, webhook, circuitOpen }) => circuitOpen || health.failingSince !== null || webhook.disabled !== undefined,
  );
}

export const operatorQueues: Resource = {
  tag: 'operator: queues',
  schemas: { Queue: queueView.schema, TroubledReceiver: receiverView.schema },
  operations: {
    'GET /queues': {
      id: 'operatorListQueues',
      allow: 'operators',
      work: 'costly',
      answer: json.all('Queue'),
      async handle({ operator }) {
        try {
          return dataReply(((await operator.queues()) ?? []).map(queueView.show));
        } catch (error) {
          throw unavailable(`The message broker does not answer. ${error instanceof Error ? error.message : error}`);
        }
      },
    },
    'GET /receivers': {
      id: 'operatorListReceivers',
      allow: 'operators',
      work: 'costly',
      answer: json.all('TroubledReceiver'),
      handle: async (api) => dataReply((await troubled(api)).map(receiverView.show)),
    },
  },
};
