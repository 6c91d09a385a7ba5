/** The rules of an order's export (spec §3, §6.4): approval, rejection, failure, late delivery. Pure. */
import { MAX_LIST_ENTRIES } from '../limits.js';
import type { OrderExportDelivered } from './events.js';
import { type Approval, exportDocument } from './exportDocument.js';
import { accept, conflict, move, type Order, type OrderDecision, refuse } from './order.js';
import { errorsOf, problemsOf } from './problems.js';
import type { AssetTypes, ExportSnapshot } from './snapshot.js';
import { ACTIONS, mayBe } from './status.js';

/**
 * Approval (spec §3): needs `validated` or `failed`. An order with problems (unknown references, impossible values) needs a
 * reason of the approver. @throws OrderDocumentTooLargeError
 */
export function approveOrder(
  order: Order,
  approval: Approval,
  snapshot: ExportSnapshot,
  assetTypes: AssetTypes,
  reason?: string,
): OrderDecision {
  if (!mayBe('approve', order.status))
    return conflict(
      `An order can be approved when it is ${ACTIONS.approve.join(' or ')}; this one is ${order.status}.`,
    );
  exportDocument(snapshot, approval, assetTypes);
  const problems = problemsOf(snapshot, assetTypes);
  if (problems.length > 0 && reason === undefined)
    return { kind: 'invalid', errors: errorsOf(problems), advice: TO_OVERRIDE };
  const override = problems.length > 0 && reason !== undefined && { override: { reason, problems } };
  return accept({
    type: 'OrderApproved',
    data: { status: move(order, 'submitted'), ...approval, snapshot, ...override },
  });
}

const TO_OVERRIDE =
  'To approve the order in spite of its problems, send {"override": true, "reason": "…"} to its /approve.';

export function rejectOrder(order: Order, reasons: readonly string[]): OrderDecision {
  if (!mayBe('reject', order.status)) return conflict(`An order that is ${order.status} cannot be rejected.`);
  if (reasons.length === 0)
    return refuse('reasons', 'The reasons field must say at least one: a rejection is explained.');
  return accept({ type: 'OrderRejected', data: { status: move(order, 'rejected'), reasons } });
}

/** A delivery of the export of an approval. */
type Delivery = Omit<OrderExportDelivered['data'], 'status' | 'reasons'>;

/**
 * The export of approval `approvalEventId` to one webhook has failed for good. No event when the order's status has changed
 * since (another approval, a status reported by the integration), so it may be repeated.
 */
export function failExport(
  order: Order,
  { approvalEventId, webhookId, deliveryId, reasons }: Delivery & { readonly reasons: readonly string[] },
): OrderDecision {
  const undelivered = undeliveredOf(order, approvalEventId);
  if (undelivered === undefined || undelivered.includes(webhookId)) return accept();
  const before = undelivered.length === 0 ? [] : errorReasonsOf(order);
  const all = [...before, ...reasons].slice(0, MAX_LIST_ENTRIES);
  const data = { status: move(order, 'failed'), reasons: all, webhookId, deliveryId };
  return accept({ type: 'OrderExportFailed', data });
}

/**
 * An export that had failed for good reached the webhook after all: the order is `submitted` again, unless another webhook
 * still lacks it. No event when the order's status has changed since, so it may be repeated.
 */
export function deliverExport(order: Order, delivery: Delivery): OrderDecision {
  const undelivered = undeliveredOf(order, delivery.approvalEventId) ?? [];
  if (!undelivered.includes(delivery.webhookId)) return accept();
  const isLast = undelivered.length === 1;
  const status = move(order, isLast ? 'submitted' : order.status);
  const data = { ...delivery, status, reasons: isLast ? [] : errorReasonsOf(order) };
  return accept({ type: 'OrderExportDelivered', data });
}

/** Webhooks to which the export of the approval has failed; undefined when the order's status has changed since. */
function undeliveredOf(order: Order, approvalEventId: string): readonly string[] | undefined {
  if (order.status === 'submitted' && order.approval === approvalEventId) return [];
  return order.failed?.approvalEventId === approvalEventId ? order.failed.webhookIds : undefined;
}

const errorReasonsOf = ({ fields }: Order): readonly string[] =>
  Array.isArray(fields.error_reason) ? fields.error_reason : [];
