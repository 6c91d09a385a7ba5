/** The rules of an order and its parts (spec §3, §4.5, §4.6, §4.9, §6.4). Pure: times and ids are arguments. */
import type { AssetType } from '../assetTypes/assetType.js';
import { changesOf, ownValue } from '../assetTypes/fieldTypes.js';
import type { FieldErrors, RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ENTRIES, MAX_LIST_ENTRIES, MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import { type AssetTypes, errorsOf, wholeOrder } from './document.js';
import {
  type Approval,
  type Delivery,
  type ExportSnapshot,
  FAILED,
  type OrderEdit,
  type OrderEvent,
  type OrderStatus,
  type PartFields,
  type PartsChange,
  type StatusChange,
} from './events.js';
import { bareOrder, evolve, type Order } from './order.js';
import { tooManyParts, UNKNOWN_PART, withDescendants } from './parts.js';

/** `invalid` is about the body (422); `conflict` is about the state the order is in (409). */
export type OrderDecision =
  | { readonly kind: 'accepted'; readonly events: readonly OrderEvent[] }
  | { readonly kind: 'invalid'; readonly errors: FieldErrors }
  | { readonly kind: 'conflict'; readonly message: string };

const refuse = (field: string, message: string): OrderDecision => ({ kind: 'invalid', errors: { [field]: [message] } });
const conflict = (message: string): OrderDecision => ({ kind: 'conflict', message });
const accept = (...events: OrderEvent[]): OrderDecision => ({ kind: 'accepted', events });

const move = (order: Order, to: OrderStatus): StatusChange => ({ from: order.status, to });

/** Orders that validators work on. */
export const TO_DO: readonly OrderStatus[] = ['pending_validation', 'saved', 'validated', 'submit_failed', FAILED];

/** What people do with an order, and the states in which they may. */
export const ACTIONS = ['save', 'approve', 'reject'] as const;
type OrderAction = (typeof ACTIONS)[number];
const STATES_OF: { readonly [action in OrderAction]: readonly OrderStatus[] } = {
  save: [...TO_DO, 'rejected'],
  approve: ['validated', FAILED],
  reject: TO_DO,
};

const mayBe = (action: OrderAction, status: OrderStatus): boolean => STATES_OF[action].includes(status);

export const actionsOn = (status: OrderStatus): readonly OrderAction[] =>
  ACTIONS.filter((action) => mayBe(action, status));

export function createOrder(assetType: AssetType, input: RecordInput, parts: readonly PartFields[]): OrderDecision {
  const { processing_status: sent, ...fields } = input.fields;
  const status = (sent as OrderStatus | null | undefined) ?? 'pending_validation';
  const data = { table: assetType.name, fields: withoutNulls(fields), status };
  if (parts.length === 0) return accept({ type: 'OrderCreated', data });
  return accept({ type: 'OrderCreatedWithParts', data: { ...data, parts } });
}

/**
 * A change of parts makes an order `saved`, except a new one, which is still being filled. A submitted or completed order changes
 * only together with its status, `sent` with it.
 */
function edit(order: Order, what: Omit<OrderEdit, 'status'>, sent?: OrderStatus): OrderDecision {
  const { status } = order;
  const { errorReason, ...edited } = what;
  const isEdited = Object.keys(edited).length > 0;
  if (!isEdited && errorReason === undefined) return accept();
  if (isEdited && sent === undefined && (status === 'submitted' || status === 'completed'))
    return conflict(`An order that is ${status} is changed only together with its processing_status: send one too.`);
  const isSaved = isEdited && (status !== 'pending_validation' || edited.changes !== undefined);
  return accept({ type: 'OrderEdited', data: { status: move(order, sent ?? (isSaved ? 'saved' : status)), ...what } });
}

/**
 * PUT on an order. With nothing but the status (and its reasons) it is the status update of spec §4.9;
 * with other fields, or parts, it changes the order, which is then `saved` unless a status is sent too.
 */
export function updateOrder(order: Order, orderId: string, input: RecordInput, parts: PartsChange): OrderDecision {
  if (input.id !== undefined && input.id !== orderId) return refuse('id', OTHER_ID);
  const { processing_status: sent, error_reason: errorReason, ...rest } = input.fields;
  if (sent === null) return refuse('processing_status', 'The processing_status field must not be null.');
  const set = changedFields(order.fields, rest);
  const status = sent as OrderStatus | undefined;
  const before = errorReasonsOf(order);
  // A status other than `submit_failed` clears the reasons of an earlier failure.
  const kept = status === undefined || status === 'submit_failed' ? before : null;
  const reasons = errorReason === undefined ? kept : (errorReason as readonly string[] | null);
  const isMoved = status !== undefined && status !== order.status;
  const what = {
    ...(Object.keys(set).length > 0 && { changes: changesOf(order.fields, set) }),
    ...(Object.values(parts).some((list) => list.length > 0) && parts),
    ...((isMoved || JSON.stringify(reasons) !== JSON.stringify(before)) && { errorReason: reasons }),
  };
  return edit(order, what, status);
}

const OTHER_ID = 'The id differs from the one in the path.';

const errorReasonsOf = ({ fields }: Order): readonly string[] | null =>
  Array.isArray(fields.error_reason) ? fields.error_reason : null;

/** A person's save: the order becomes `saved`, or `validated` if the body says so and the order has all that an export needs. */
export function saveOrder(
  order: Order,
  orderId: string,
  { fields, ...input }: RecordInput,
  parts: PartsChange,
  assetTypes: AssetTypes,
): OrderDecision {
  if (!mayBe('save', order.status)) return conflict(`An order that is ${order.status} cannot be saved.`);
  const status = fields.processing_status ?? 'saved';
  if (!SET_BY_SAVING.some((each) => each === status))
    return refuse('processing_status', 'The processing_status field must be saved or validated here.');
  const decision = updateOrder(order, orderId, { ...input, fields: { ...fields, processing_status: status } }, parts);
  if (status === 'saved' || decision.kind !== 'accepted') return decision;
  const saved = decision.events.reduce((state, event) => evolve(state, event, { id: '', at: '' }), order);
  const { problems } = wholeOrder(bareOrder(assetTypes, orderId, saved), assetTypes);
  const missing = problems.filter(({ code }) => code === 'missing');
  return missing.length > 0 ? { kind: 'invalid', errors: errorsOf(missing) } : decision;
}

/** A validator who saves an order may set these. */
export const SET_BY_SAVING = ['saved', 'validated'] as const;

/**
 * A new line, consignment, goods or charge.
 * @param order the one that the parent field of the part leads to
 */
export function addPart(order: Order, assetType: AssetType, input: RecordInput, id: string): OrderDecision {
  const { name: table, parent } = assetType;
  if (input.id !== undefined) return refuse('id', UNKNOWN_PART);
  if (order.parts.size >= MAX_ORDER_PARTS) return refuse(parent?.field ?? 'id', tooManyParts);
  // The parent of a part of a part (goods of a consignment) must be a part of the same order.
  const parentId = String(ownValue(input.fields, parent?.field ?? ''));
  if (parent !== undefined && parent.table !== order.table && order.parts.get(parentId)?.table !== parent.table)
    return refuse(parent.field, unknownParent(parent.field));
  return edit(order, { added: [{ table, id, fields: withoutNulls(input.fields) }] });
}

export function updatePart(order: Order, assetType: AssetType, id: string, input: RecordInput): OrderDecision {
  const before = order.parts.get(id)?.fields ?? {};
  if (input.id !== undefined && input.id !== id) return refuse('id', OTHER_ID);
  const set = changedFields(before, input.fields);
  const parent = assetType.parent?.field ?? '';
  if (Object.hasOwn(set, parent))
    return refuse(parent, `The ${parent} field cannot be changed: a part stays with its order.`);
  if (Object.keys(set).length === 0) return accept();
  return edit(order, { changed: [{ table: assetType.name, id, changes: changesOf(before, set) }] });
}

/** Removes a part, with the parts that belong to it. */
export function removePart(order: Order, partId: string, assetTypes: AssetTypes): OrderDecision {
  return edit(order, { removed: withDescendants(assetTypes, order.parts, ({ id }) => id === partId) });
}

export const unknownParent = (field: string): string => `The ${field} field names no known record.`;

/**
 * Approval (spec §3): needs `validated` or `failed`.
 * @param reason of the approver for an order with problems (unknown references, impossible values)
 */
export function approveOrder(
  order: Order,
  approval: Approval,
  snapshot: ExportSnapshot,
  assetTypes: AssetTypes,
  reason?: string,
): OrderDecision {
  if (!mayBe('approve', order.status))
    return conflict(`An order can be approved when it is validated or failed; this one is ${order.status}.`);
  const problems = wholeOrder(snapshot, assetTypes).problems.slice(0, MAX_ENTRIES);
  if (problems.length > 0 && reason === undefined) return { kind: 'invalid', errors: errorsOf(problems) };
  const override = problems.length > 0 && reason !== undefined && { override: { reason, problems } };
  const data = { status: move(order, 'submitted'), ...approval, snapshot, ...override };
  return accept({ type: 'OrderApproved', data });
}

export function rejectOrder(order: Order, reasons: readonly string[]): OrderDecision {
  if (!mayBe('reject', order.status)) return conflict(`An order that is ${order.status} cannot be rejected.`);
  if (reasons.length === 0)
    return refuse('reasons', 'The reasons field must say at least one: a rejection is explained.');
  return accept({ type: 'OrderRejected', data: { status: move(order, 'rejected'), reasons } });
}

/**
 * The export of an approval to a webhook has failed for good, or was delivered after that: the order is `failed` while any
 * webhook lacks it, and then `submitted` again. No event when the status has changed since, so it may be repeated.
 * @param failure why it failed; undefined: it was delivered
 */
export function endExport(
  order: Order,
  approvalEventId: string,
  { webhookId, deliveryId }: Delivery,
  failure?: readonly string[],
): OrderDecision {
  const { approval, lackedBy } = order;
  if (approval !== approvalEventId || lackedBy.includes(webhookId) === (failure !== undefined)) return accept();
  const before = lackedBy.length === 0 ? [] : (errorReasonsOf(order) ?? []);
  if (failure !== undefined) {
    const reasons = [...before, ...failure].slice(0, MAX_LIST_ENTRIES);
    return accept({ type: 'OrderExportFailed', data: { status: move(order, FAILED), reasons, webhookId, deliveryId } });
  }
  const [status, reasons] =
    lackedBy.length === 1 ? [move(order, 'submitted'), []] : [move(order, order.status), before];
  return accept({ type: 'OrderExportDelivered', data: { approvalEventId, webhookId, deliveryId, status, reasons } });
}
