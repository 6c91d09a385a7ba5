/** Why an approved order is not sent, or not now. Pure. */
import { type Webhook, wantedSince } from '../identity/directory.js';
import type { ExportWarning, OrderExportHeld } from './events.js';

const KIND = 'order.approved';

/** Warnings for an order that is approved now: no webhook subscribes, or a subscribed one is disabled. */
export function approvalWarnings(webhooks: Iterable<Webhook>): readonly ExportWarning[] {
  const wanting = [...webhooks].filter(({ events }) => events.includes(KIND));
  return wanting.length === 0 ? [{ code: 'no_webhook' }] : wanting.flatMap((webhook) => disabledWarning(webhook) ?? []);
}

/** Undefined for a webhook that is enabled. */
export const disabledWarning = ({ id, name, disabled }: Webhook): OrderExportHeld['data']['warning'] | undefined =>
  disabled && { code: 'webhook_disabled', webhookId: id, name, reason: disabled.reason, since: disabled.since };

/** Webhooks that an approval may wait for: subscribed by then, and disabled. @param approvedAt ISO 8601 */
export const disabledSince = (webhooks: Iterable<Webhook>, approvedAt: string): readonly Webhook[] =>
  [...webhooks].filter((each) => each.disabled !== undefined && isWanted(each, approvedAt));

const isWanted = (webhook: Webhook, approvedAt: string): boolean =>
  webhook.events.includes(KIND) && wantedSince(webhook, KIND) <= approvedAt;

export const warningText = (warning: ExportWarning): string =>
  warning.code === 'no_webhook'
    ? 'No webhook subscribes to order.approved, so the order is sent to nobody.'
    : `Webhook ${warning.name} is disabled: ${warning.reason} The order is sent to it when it is enabled.`;
