/**
 * Warnings of an approval and of a submitted order: a webhook may get an export twice, no webhook wants it, or the webhook
 * is disabled and its export waits.
 */
import type { StreamReads } from '../commands/streamPages.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryIds.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Tenant } from '../domain/identity/directory.js';
import { approvalWarnings, disabledForApproval, disabledWarning, warningText } from '../domain/order/approval.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import type { Order } from '../domain/order/order.js';
import { TO_VALIDATE } from '../domain/order/status.js';
import * as json from './openapi/schema.js';

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

/** What the approval of the order would warn of now; if it was approved, what is known of its delivery from the log. */
export async function orderWarnings(
  eventStore: StreamReads,
  { name: tenant, webhooks }: Tenant,
  { status, lastApproval }: Order,
): Promise<readonly object[]> {
  if (TO_VALIDATE.some((each) => each === status))
    return shownWarnings({ warnings: approvalWarnings(webhooks.values()) });
  if (status !== 'submitted' || lastApproval === undefined) return [];
  const { repeats = [], warnings: said = [], position = Number.POSITIVE_INFINITY } = lastApproval;
  const waiting = disabledForApproval(webhooks.values(), position).map(async (webhook) => {
    const warning = disabledWarning(webhook);
    const deliveryId = firstDeliveryId(webhook.id, lastApproval, 'order.approved');
    const { delivery } = (await loadDelivery(eventStore, { tenant, deliveryId })) ?? {};
    // Nothing is requested while it is disabled. If the relay lags, the warning given at the approval counts.
    const isSaid = said.some((each) => 'webhookId' in each && each.webhookId === webhook.id);
    const isOpen = delivery === undefined ? isSaid || position > (webhook.heldAfter ?? 0) : delivery.outcome === 'open';
    return warning !== undefined && isOpen ? [warning] : [];
  });
  const without = said.filter(({ code }) => code === 'no_webhook');
  return shownWarnings({ repeats, warnings: [...without, ...(await Promise.all(waiting)).flat()] });
}
