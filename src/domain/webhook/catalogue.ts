/** The kinds of events that a webhook can subscribe to (spec §6); docs/webhook-events.md has their bodies. */
import type { EventOf } from '../eventTypes.js';
import { type OrderStatus, type StatusChange, toldAs } from '../order/events.js';

/** The types of events of the log that cause each kind; an edit of the status alone is no update. */
const CAUSES = {
  'order.created': ['OrderCreated', 'OrderCreatedWithParts'],
  'order.updated': ['OrderEdited'],
  /** Caused by each event that moves the status of an order. */
  'order.status_changed': [],
  'order.approved': ['OrderApproved'],
  'order.export_failed': ['OrderExportFailed'],
  'reference.batch_upserted': ['BatchUpserted', 'BatchUndone'],
  'reference.cleaned_up': ['TableCleanedUp'],
};

/** What a webhook can subscribe to. */
export type WebhookEventKind = keyof typeof CAUSES;
const isKind = (name: string): name is WebhookEventKind => Object.hasOwn(CAUSES, name);
export const WEBHOOK_EVENT_KINDS: readonly WebhookEventKind[] = Object.keys(CAUSES).filter(isKind);

/** The kinds of an event, in the order of `WEBHOOK_EVENT_KINDS`: one event may have several, most have none. */
export function kindsOf({ type, data }: EventOf<string, unknown>): readonly WebhookEventKind[] {
  // A new order has no status before.
  const { status } = (data ?? {}) as { readonly status?: StatusChange | OrderStatus };
  const isMoved = type.startsWith('Order') && typeof status === 'object' && status.from !== status.to;
  const isOfStatus = toldAs({ type, data }) === 'OrderStatusChanged';
  const isCaused = (kind: WebhookEventKind) =>
    CAUSES[kind].some((cause) => cause === type && !isOfStatus) || (isMoved && kind === 'order.status_changed');
  return WEBHOOK_EVENT_KINDS.filter(isCaused);
}

/**
 * `webhook-event-version`. Raised when something in the body is removed, or changes its type or meaning; not when something is
 * added.
 */
export const payloadVersion = (kind: WebhookEventKind): string => (kind.startsWith('order.') ? '2' : '1');
