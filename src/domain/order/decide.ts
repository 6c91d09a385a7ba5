/** The rules of an order (spec §3, §4.5, §4.6, §4.9). Pure: time, ids and look-ups come in as values. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import type { RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import type { OrderEvent, OrderExportFailed, PartFields, PartsChange, StatusChange } from './events.js';
import type { Approver } from './exportDocument.js';
import { type Order, toChanges } from './order.js';
import { refusedChoice, tooManyParts, withDescendants } from './parts.js';
import { errorsOf, type Problem } from './problems.js';
import type { ExportSnapshot } from './snapshot.js';
import { APPROVABLE, type OrderStatus } from './status.js';

/** `invalid` is about the body (422); `conflict` is about the state the order is in (409). */
export type OrderDecision =
  | { readonly kind: 'accepted'; readonly events: readonly OrderEvent[] }
  | { readonly kind: 'invalid'; readonly errors: FieldErrors }
  | { readonly kind: 'conflict'; readonly message: string };

const refuse = (field: string, message: string): OrderDecision => ({ kind: 'invalid', errors: { [field]: [message] } });
const accept = (...events: OrderEvent[]): OrderDecision => ({ kind: 'accepted', events });

const stay = (order: Order): StatusChange => ({ from: order.status, to: order.status });
const move = (order: Order, to: OrderStatus): StatusChange => ({ from: order.status, to });

export function createOrder(
  assetType: AssetType,
  input: RecordInput,
  parts: readonly PartFields[] = [],
): OrderDecision {
  const { processing_status: status, ...fields } = input.fields;
  const data = {
    table: assetType.name,
    fields: withoutNulls(fields),
    status: (status as OrderStatus | null | undefined) ?? 'pending_validation',
  };
  return accept(
    parts.length === 0 ? { type: 'OrderCreated', data } : { type: 'OrderCreatedWithParts', data: { ...data, parts } },
  );
}

/** What left the validators' hands says nothing else by itself: whoever writes to it says what it is then, by a status. */
function refuseClosed(order: Order): OrderDecision | undefined {
  if (order.status !== 'submitted' && order.status !== 'completed') return undefined;
  const message = `An order that is ${order.status} is changed only together with its processing_status: send one with the order.`;
  return { kind: 'conflict', message };
}

/**
 * PUT on an order. With nothing but the status (and its reasons) it is the status update of spec §4.9;
 * with other fields, or parts, it changes the order, which is then `saved` unless a status is sent too.
 */
export function updateOrder(
  order: Order,
  orderId: string,
  input: RecordInput,
  parts: PartsChange = NO_CHANGE,
): OrderDecision {
  if (input.id !== undefined && input.id !== orderId) return refuse('id', 'The id differs from the one in the path.');
  const { processing_status: sent, error_reason: errorReason, ...rest } = input.fields;
  if (sent === null) return refuse('processing_status', 'The processing_status field must not be null.');
  const set = changedFields(order.fields, rest);
  const status = sent as OrderStatus | undefined;
  const changes = toChanges(order.fields, set);
  const setsFields = Object.keys(set).length > 0;
  const setsParts = parts.added.length + parts.changed.length + parts.removed.length > 0;
  const closed = status === undefined && (setsFields || setsParts) ? refuseClosed(order) : undefined;
  if (closed !== undefined) return closed;

  const events: OrderEvent[] = [];
  let before = order.status;
  if (setsFields) {
    const moved = status === undefined ? move(order, 'saved') : stay(order);
    before = moved.to;
    events.push({ type: 'OrderChanged', data: { changes, status: moved } });
  }
  if (setsParts) {
    const now = { ...order, status: before };
    const moved = status === undefined ? statusAfterPartChange(now) : stay(now);
    before = moved.to;
    events.push({ type: 'OrderPartsChanged', data: { ...parts, status: moved } });
  }
  if (status !== undefined || errorReason !== undefined) {
    const reasons = errorReason === undefined ? reasonsKept(order, status) : (errorReason as readonly string[] | null);
    const to = status ?? before;
    if (to !== before || !sameReasons(reasons, order.fields.error_reason)) {
      events.push({ type: 'OrderStatusChanged', data: { status: { from: before, to }, errorReason: reasons } });
    }
  }
  return accept(...events);
}

const NO_CHANGE: PartsChange = { added: [], changed: [], removed: [] };

/** A status other than a failure clears the reasons of an earlier one. */
function reasonsKept(order: Order, status: OrderStatus | undefined): readonly string[] | null {
  const current = order.fields.error_reason;
  const keeps = status === undefined || status === 'submit_failed';
  return keeps && Array.isArray(current) ? current : null;
}

const sameReasons = (a: readonly string[] | null, b: unknown): boolean =>
  JSON.stringify(a) === JSON.stringify(b ?? null);

/**
 * A new line, consignment, goods or charge. `order` is the one its parent field leads to; whether an id of the client's
 * choice is taken by another order is not known here.
 */
export function addPart(order: Order, assetType: AssetType, input: RecordInput, newId: string): OrderDecision {
  if (order.parts.has(newId)) return refuse('id', `The id ${newId} is taken.`);
  const choice = input.id === undefined ? {} : refusedChoice(newId);
  if (Object.keys(choice).length > 0) return { kind: 'invalid', errors: choice };
  if (order.parts.size >= MAX_ORDER_PARTS) return refuse(assetType.parent?.field ?? 'id', tooManyParts);
  const refused = checkParent(order, assetType, input.fields) ?? refuseClosed(order);
  if (refused !== undefined) return refused;
  return accept({
    type: 'OrderPartAdded',
    data: {
      table: assetType.name,
      id: newId,
      fields: withoutNulls(input.fields),
      status: statusAfterPartChange(order),
    },
  });
}

export function updatePart(order: Order, assetType: AssetType, partId: string, input: RecordInput): OrderDecision {
  const part = order.parts.get(partId);
  if (part === undefined) throw new Error(`Part ${partId} is not of this order.`);
  if (input.id !== undefined && input.id !== partId) return refuse('id', 'The id differs from the one in the path.');
  const parentField = assetType.parent?.field ?? '';
  const parent = ownValue(input.fields, parentField);
  if (parent !== undefined && parent !== ownValue(part.fields, parentField)) {
    return refuse(parentField, `The ${parentField} field cannot be changed: a part stays with its order.`);
  }
  const set = changedFields(part.fields, input.fields);
  if (Object.keys(set).length === 0) return accept();
  const closed = refuseClosed(order);
  if (closed !== undefined) return closed;
  const changes = toChanges(part.fields, set);
  return accept({
    type: 'OrderPartChanged',
    data: { table: assetType.name, id: partId, changes, status: statusAfterPartChange(order) },
  });
}

/** Removes a part, with the parts that belong to it. */
export function removePart(order: Order, partId: string, assetTypes: ReadonlyMap<string, AssetType>): OrderDecision {
  const part = order.parts.get(partId);
  if (part === undefined) throw new Error(`Part ${partId} is not of this order.`);
  const removed = withDescendants(assetTypes, order.parts, [part]);
  return (
    refuseClosed(order) ??
    accept({
      type: 'OrderPartsChanged',
      data: { ...NO_CHANGE, removed, status: statusAfterPartChange(order) },
    })
  );
}

/** An order whose parts change after the first save counts as altered; a new order is still being filled. */
const statusAfterPartChange = (order: Order): StatusChange =>
  order.status === 'pending_validation' ? stay(order) : move(order, 'saved');

/** A part of a part (goods of a consignment) must name a part of the same order. */
function checkParent(order: Order, assetType: AssetType, fields: Fields): OrderDecision | undefined {
  const parent = assetType.parent;
  if (parent === undefined || parent.table === order.table) return undefined;
  const parentId = String(ownValue(fields, parent.field) ?? '');
  return order.parts.get(parentId)?.table === parent.table
    ? undefined
    : { kind: 'invalid', errors: unknownParent(parent.field) };
}

export const unknownParent = (field: string): FieldErrors => ({
  [field]: [`The ${field} field names no known record.`],
});

/**
 * Approval (spec §3): needs `validated` or `failed`; of several at once the first wins. What is named must be there, and
 * values possible, unless the approver says why not.
 */
export function approveOrder(
  order: Order,
  approver: Approver,
  approvedAt: string,
  snapshot: ExportSnapshot,
  { problems, reason }: { readonly problems: readonly Problem[]; readonly reason?: string | undefined },
): OrderDecision {
  if (!APPROVABLE.includes(order.status)) {
    const message = `An order can be approved when it is ${APPROVABLE.join(' or ')}; this one is ${order.status}.`;
    return { kind: 'conflict', message };
  }
  if (problems.length > 0 && reason === undefined) return { kind: 'invalid', errors: errorsOf(problems) };
  const override = problems.length === 0 || reason === undefined ? {} : { override: { reason, problems } };
  const data = { status: move(order, 'submitted'), approvedAt, approver, snapshot, ...override };
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
 * The export of approval `approvalEventId` has failed for good. Says nothing about an order that has moved
 * on since (another approval, a status reported by the integration), so it may be decided twice.
 */
export function failExport(order: Order, failure: ExportFailure): OrderDecision {
  if (order.status !== 'submitted' || order.approval !== failure.approvalEventId) return accept();
  const { reasons, webhookId, deliveryId } = failure;
  return accept({ type: 'OrderExportFailed', data: { status: move(order, 'failed'), reasons, webhookId, deliveryId } });
}

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
