/**
 * Warnings of an approval and of a submitted order: a webhook may get an export twice, no webhook wants it, or the webhook
 * is disabled and its export waits.
 */
import type { StreamReads } from '../commands/streamPages.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryIds.js';
import { loadDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { MAX_WARNING_LOOKUPS } from '../domain/limits.js';
import { approvalWarnings, disabledForApproval, disabledWarning, warningText } from '../domain/order/approval.js';
import type { ExportWarning, Repeat } from '../domain/order/events.js';
import type { Order } from '../domain/order/order.js';
import { TO_VALIDATE } from '../domain/order/status.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ApiDeps } from './deps.js';
import * as json from './openapi/schema.js';
import { type PageText, textsOf } from './pageRecords.js';

const CODES = ['may_be_duplicate', 'no_webhook', 'webhook_disabled'] as const;

type Shown = {
  readonly code: (typeof CODES)[number];
  readonly webhookId?: string;
  readonly deliveryId?: string;
  readonly message: string;
};

export const exportWarning = json.view<Shown>({
  code: [json.oneOf(CODES), ({ code }) => code],
  webhook_id: [json.orNull(json.uuid), ({ webhookId = null }) => webhookId],
  delivery_id: [
    { ...json.orNull(json.uuid), description: 'Of may_be_duplicate: the latest earlier export that may have arrived.' },
    ({ deliveryId = null }) => deliveryId,
  ],
  message: [json.text, ({ message }) => message],
});

type Warned = { readonly repeats?: readonly Repeat[]; readonly warnings?: readonly ExportWarning[] };

const MAY_BE_DUPLICATE =
  'The webhook may have an earlier export of this order. The webhook-id of the new one names it.';

export const shownWarnings = ({ repeats = [], warnings: said = [] }: Warned): readonly object[] => [
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
/** Concurrent lookups for one list. */
const AT_ONCE = 25;

type Approval = {
  readonly id: string;
  /** In the log; absent for an approval that is not in it yet. */
  readonly position?: number | undefined;
  readonly repeats?: readonly Repeat[];
  readonly warnings?: readonly ExportWarning[];
};

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

const SUBMITTED = '"processing_status":"submitted"';

/**
 * Adds `warnings` to the submitted orders of a page that have some.
 */
export async function withWarnings(
  queries: Pick<ApiDeps['queries'], 'orderHistory' | 'deliveries'>,
  tenant: Tenant,
  page: PageText,
  cancellation?: Cancellation,
): Promise<PageText> {
  const records = textsOf(page);
  const submitted = records.filter((each) => each.text.includes(SUBMITTED)).map(({ id }) => id);
  if (submitted.length === 0) return page;
  const approvals = [...(await queries.orderHistory.approvals(tenant.name, submitted, cancellation))];
  const shown = new Map<string, readonly object[]>();
  let lookups = 0;
  for (let from = 0; from < approvals.length; from += AT_ONCE) {
    await Promise.all(
      approvals
        .slice(from, from + AT_ONCE)
        .map(async ([orderId, { eventId: id, position, repeats = [], warnings = [] }]) => {
          const isOpen: IsOpen = async (webhook) => {
            lookups += 1;
            if (lookups > MAX_WARNING_LOOKUPS) return undefined;
            const entry = await queries.deliveries.delivery(tenant.name, firstDeliveryId(webhook.id, { id }, KIND));
            return entry && entry.state === 'open';
          };
          shown.set(orderId, shownWarnings(await warningsNow(tenant, { id, position, repeats, warnings }, isOpen)));
        }),
    );
  }
  return records
    .map((record) => {
      const warnings = shown.get(record.id) ?? [];
      return warnings.length === 0
        ? record.text
        : `${record.text.slice(0, -1)},"warnings":${JSON.stringify(warnings)}}`;
    })
    .join();
}
