/**
 * Warnings of an approval and of a submitted order: a webhook may get an export twice, no webhook wants it, or the webhook
 * is disabled and its export waits.
 */
import { eventAt, type StreamReads } from '../commands/streamPages.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryIds.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { approvalWarnings, disabledForApproval, disabledWarning, warningText } from '../domain/order/approval.js';
import type { ExportWarning, OrderApproved, Repeat } from '../domain/order/events.js';
import type { Order } from '../domain/order/order.js';
import { TO_VALIDATE } from '../domain/order/status.js';
import { orderStream } from '../domain/streams.js';
import { approvalsOf } from '../queries/activity.js';
import type { Api } from './deps.js';
import * as json from './openapi/schema.js';
import type { ShownOrder } from './orderSummaries.js';

/** Deliveries that are looked up for one page of orders, to say whose export waits for a disabled webhook. */
const MAX_WARNING_LOOKUPS = 1_000;

const CODES = ['may_be_duplicate', 'no_webhook', 'webhook_disabled'] as const;

type Shown = {
  readonly code: (typeof CODES)[number];
  readonly webhookId?: string;
  readonly deliveryId?: string;
  readonly message: string;
};

export const exportWarning = json.view<Shown>({
  code: json.oneOf(CODES),
  webhook_id: json.orNull(json.uuid),
  delivery_id: {
    ...json.orNull(json.uuid),
    description: 'Of may_be_duplicate: the latest earlier export that may have arrived.',
  },
  message: json.text,
});

type Warned = { readonly repeats?: readonly Repeat[]; readonly warnings?: readonly ExportWarning[] };

const MAY_BE_DUPLICATE =
  'The webhook may have an earlier export of this order. The webhook-id of the new one names it.';

export const shownWarnings = ({
  repeats = [],
  warnings: said = [],
}: Warned): readonly ReturnType<typeof exportWarning.show>[] => [
  ...repeats.map((repeat) => exportWarning.show({ code: 'may_be_duplicate', ...repeat, message: MAY_BE_DUPLICATE })),
  ...said.map((warning) => exportWarning.show({ ...warning, message: warningText(warning) })),
];

/** The `warnings` member of an answer; absent if there are none. */
export function warningsOf(warned: Warned): { readonly warnings?: readonly object[] } {
  const shown = shownWarnings(warned);
  return shown.length === 0 ? {} : { warnings: shown };
}

export const warnings: json.JsonSchema = json.listOf(json.ref('ExportWarning'));

const KIND = 'order.approved';

/** `position` is absent for an approval that is not in the log yet. */
type Approval = Warned & { readonly id: string; readonly position?: number | undefined };

/** Whether the approval's delivery to the webhook is open; undefined if unknown. */
type IsOpen = (webhook: Webhook) => Promise<boolean | undefined>;

async function warningsNow({ webhooks }: Tenant, approval: Approval, isOpen: IsOpen): Promise<Warned> {
  const { repeats = [], warnings = [], position = Number.POSITIVE_INFINITY } = approval;
  const waiting = disabledForApproval(webhooks.values(), position).map(async (webhook) => {
    const warning = disabledWarning(webhook);
    if (warning === undefined) return [];
    // Nothing is requested while it is disabled. If the relay lags, the warning given at the approval counts.
    const isSaid = warnings.some((each) => 'webhookId' in each && each.webhookId === webhook.id);
    return ((await isOpen(webhook)) ?? (isSaid || position > (webhook.heldAfter ?? 0))) ? [warning] : [];
  });
  const without = warnings.filter(({ code }) => code === 'no_webhook');
  return { repeats, warnings: [...without, ...(await Promise.all(waiting)).flat()] };
}

/** What the approval of the order would warn of now; if it was approved, what is known of its delivery from the log. */
export async function orderWarnings(
  eventStore: StreamReads,
  tenant: Tenant,
  { status, lastApproval }: Order,
): Promise<readonly object[]> {
  if (TO_VALIDATE.some((each) => each === status))
    return shownWarnings({ warnings: approvalWarnings(tenant.webhooks.values()) });
  if (status !== 'submitted' || lastApproval === undefined) return [];
  const isOpen: IsOpen = async ({ id }) => {
    const deliveryId = firstDeliveryId(id, lastApproval, KIND);
    const loaded = await loadDelivery(eventStore, { tenant: tenant.name, deliveryId });
    return loaded && loaded.delivery.outcome === 'open';
  };
  return shownWarnings(await warningsNow(tenant, lastApproval, isOpen));
}

/** Adds `warnings` to the submitted orders of a page that have some. */
export async function withWarnings(
  { queries, rows, commands }: Pick<Api, 'queries' | 'rows' | 'commands'>,
  tenant: Tenant,
  orders: readonly ShownOrder[],
): Promise<readonly ShownOrder[]> {
  const submitted = orders.filter((order) => order.processing_status === 'submitted').map(({ id }) => id);
  const latest = [...(await approvalsOf(rows, tenant.name, submitted))];
  const read = latest.map(async ([id, { revision }]) => {
    return [id, await eventAt(commands.eventStore, orderStream(tenant.name, id), revision)] as const;
  });
  const approvals = new Map(await Promise.all(read));
  let lookups = 0;
  const shown: ShownOrder[] = [];
  for (const order of orders) {
    const approval = approvals.get(order.id);
    const isOpen: IsOpen = async (webhook) => {
      lookups += 1;
      if (lookups > MAX_WARNING_LOOKUPS || approval === undefined) return undefined;
      const entry = await queries.deliveries.delivery(tenant.name, firstDeliveryId(webhook.id, approval, KIND));
      return entry && entry.state === 'open';
    };
    const said = approval && { ...approval, ...(approval.data as OrderApproved['data']) };
    const warned = said && (await warningsNow(tenant, said, isOpen));
    shown.push({ ...order, ...warningsOf(warned ?? {}) });
  }
  return shown;
}
