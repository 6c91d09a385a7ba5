/** The rules of an order's export (spec §3, §6.4): approved, rejected, failed, delivered after all. Pure. */
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { ownValue } from '../assetTypes/fieldTypes.js';
import { MAX_LIST_ENTRIES } from '../limits.js';
import { accept, move, type OrderDecision, refuse, stay } from './decision.js';
import type { ExportWarning, OrderExportDelivered, OrderExportFailed, OrderExportHeld, Repeat } from './events.js';
import type { Approver } from './exportDocument.js';
import type { Order } from './order.js';
import { errorsOf, type Problem } from './problems.js';
import type { ExportSnapshot } from './snapshot.js';
import { APPROVABLE } from './status.js';

/**
 * Approval (spec §3): needs `validated` or `failed`; of several at once the first wins. What is named must be there, and
 * values possible, unless the approver says why not.
 */
export function approveOrder(
  order: Order,
  approver: Approver,
  approvedAt: string,
  snapshot: ExportSnapshot,
  {
    problems,
    reason,
    repeats = [],
    warnings = [],
  }: {
    readonly problems: readonly Problem[];
    readonly reason?: string | undefined;
    /** Exports of earlier approvals that may have arrived. */
    readonly repeats?: readonly Repeat[];
    readonly warnings?: readonly ExportWarning[];
  },
): OrderDecision {
  if (!APPROVABLE.includes(order.status)) {
    const message = `An order can be approved when it is ${APPROVABLE.join(' or ')}; this one is ${order.status}.`;
    return { kind: 'conflict', message };
  }
  if (problems.length > 0 && reason === undefined) return { kind: 'invalid', errors: errorsOf(problems) };
  const override = problems.length === 0 || reason === undefined ? {} : { override: { reason, problems } };
  const repeated = repeats.length === 0 ? {} : { repeats };
  const warned = warnings.length === 0 ? {} : { warnings };
  const data = {
    status: move(order, 'submitted'),
    approvedAt,
    approver,
    snapshot,
    ...override,
    ...repeated,
    ...warned,
  };
  return accept({ type: 'OrderApproved', data });
}

export function rejectOrder(order: Order, reasons: readonly string[]): OrderDecision {
  if (['submitted', 'completed', 'rejected'].includes(order.status)) {
    return { kind: 'conflict', message: `An order that is ${order.status} cannot be rejected.` };
  }
  if (reasons.length === 0)
    return refuse('reasons', 'The reasons field must say at least one: a rejection is explained.');
  return accept({ type: 'OrderRejected', data: { status: move(order, 'rejected'), reasons } });
}

/** Of the export that an approval led to. */
export type ExportFailure = Omit<OrderExportFailed['data'], 'status'> & { readonly approvalEventId: string };

/**
 * The export of approval `approvalEventId` to one webhook has failed for good. Says nothing about an order that has moved
 * on since (another approval, a status reported by the integration), so it may be decided twice.
 */
export function failExport(order: Order, failure: ExportFailure): OrderDecision {
  const { reasons, webhookId, deliveryId, approvalEventId } = failure;
  const undelivered = undeliveredOf(order, approvalEventId);
  if (undelivered === undefined || undelivered.includes(webhookId)) return accept();
  const before = undelivered.length === 0 ? [] : errorReasonsOf(order);
  return accept({
    type: 'OrderExportFailed',
    data: {
      status: move(order, 'failed'),
      reasons: [...before, ...reasons].slice(0, MAX_LIST_ENTRIES),
      webhookId,
      deliveryId,
    },
  });
}

/** What the export of an approval waits for. */
export type ExportHold = Omit<OrderExportHeld['data'], 'status'>;

/** Says nothing about an order that has moved on, or that says so already: it is asked at each look at the delivery. */
export function holdExport(order: Order, hold: ExportHold): OrderDecision {
  const { webhookId, since } = hold.warning;
  const undelivered = undeliveredOf(order, hold.approvalEventId);
  if (undelivered === undefined || undelivered.includes(webhookId)) return accept();
  const { warnings = [], held = [] } = order.lastApproval ?? {};
  const isTold = [...warnings, ...held].some(
    (each) => 'webhookId' in each && each.webhookId === webhookId && each.since === since,
  );
  return isTold ? accept() : accept({ type: 'OrderExportHeld', data: { status: stay(order), ...hold } });
}

/** What the export of an approval was sent again by. */
export type LateDelivery = Omit<OrderExportDelivered['data'], 'status' | 'reasons'>;

/**
 * A webhook to which the export had failed for good has it after all: the order is `submitted` again, unless another
 * webhook still lacks it. Says nothing about an order that has moved on, so it may be decided twice.
 */
export function deliverExport(order: Order, delivery: LateDelivery): OrderDecision {
  const undelivered = undeliveredOf(order, delivery.approvalEventId) ?? [];
  if (!undelivered.includes(delivery.webhookId)) return accept();
  const isLast = undelivered.length === 1;
  const status = move(order, isLast ? 'submitted' : order.status);
  return accept({
    type: 'OrderExportDelivered',
    data: { ...delivery, status, reasons: isLast ? [] : errorReasonsOf(order) },
  });
}

/** Webhooks to which the export of the approval has failed; undefined where the order has moved on since. */
function undeliveredOf(order: Order, approvalEventId: string): readonly string[] | undefined {
  if (order.status === 'submitted' && order.approval === approvalEventId) return [];
  return order.failed?.approvalEventId === approvalEventId ? order.failed.webhookIds : undefined;
}

const errorReasonsOf = ({ fields }: Order): readonly string[] =>
  Array.isArray(fields.error_reason) ? fields.error_reason : [];

/** What an order must have to be exported ("all required fields filled", spec §3). */
const NEEDED: {
  readonly [orderModel: string]: { readonly fields: readonly string[]; readonly part: string; readonly label: string };
} = {
  dyn_stock_order: {
    fields: ['buyer_customer_party_id', 'delivery_date'],
    part: 'dyn_order_line',
    label: 'order line',
  },
  dyn_transport_order: { fields: ['buyer_customer_party_id'], part: 'dyn_consignment', label: 'consignment' },
};

/** Errors by field for what is still missing; empty when it is complete. */
export function missingForExport(order: Order): FieldErrors {
  const needed = NEEDED[order.table];
  if (needed === undefined) return {};
  const errors: Record<string, readonly string[]> = {};
  for (const field of needed.fields) {
    if ((ownValue(order.fields, field) ?? '') === '')
      errors[field] = [`The ${field} field is needed before the order can be validated.`];
  }
  if (![...order.parts.values()].some((part) => part.table === needed.part)) {
    errors[needed.part] = [`The order needs at least one ${needed.label} before it can be validated.`];
  }
  return errors;
}
