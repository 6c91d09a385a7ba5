/** Which events of the log webhooks can subscribe to, and as what kinds. */
import { WEBHOOK_EVENT_KINDS, type WebhookEventKind } from './events.js';

/** Kinds that events of a type are in any case. */
const KINDS_OF_TYPE: ReadonlyMap<string, WebhookEventKind> = new Map([
  ['OrderCreated', 'order.created'],
  ['OrderChanged', 'order.updated'],
  ['OrderPartAdded', 'order.updated'],
  ['OrderPartChanged', 'order.updated'],
  ['OrderApproved', 'order.approved'],
  ['OrderExportFailed', 'order.export_failed'],
  ['BatchUpserted', 'reference.batch_upserted'],
  ['TableCleanedUp', 'reference.cleaned_up'],
]);

/**
 * The kinds of an event of the log, in the order of `WEBHOOK_EVENT_KINDS`: one event may be several, and most are none.
 * What an older version of the program wrote is to be upcast before, as the event store does.
 */
export function kindsOf({
  type,
  data,
}: {
  readonly type: string;
  readonly data: unknown;
}): readonly WebhookEventKind[] {
  const ofType = KINDS_OF_TYPE.get(type);
  if (!type.startsWith('Order') || !statusMoved(data)) return ofType === undefined ? [] : [ofType];
  return WEBHOOK_EVENT_KINDS.filter((kind) => kind === ofType || kind === 'order.status_changed');
}

/** A new order has a status, and none before. */
function statusMoved(data: unknown): boolean {
  if (typeof data !== 'object' || data === null || !('status' in data)) return false;
  const { status } = data;
  return (
    typeof status === 'object' && status !== null && 'from' in status && 'to' in status && status.from !== status.to
  );
}
