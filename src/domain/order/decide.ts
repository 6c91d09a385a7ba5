/** The rules of an order and its parts: create, update, removal (spec §4.5, §4.6, §4.9). Pure: times and ids are arguments. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { changesOf, ownValue } from '../assetTypes/fieldTypes.js';
import type { RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import type { OrderEvent, PartFields, PartsChange, StatusChange } from './events.js';
import { accept, conflict, evolve, move, type Order, type OrderDecision, orderAlone, refuse, stay } from './order.js';
import { tooManyParts, UNKNOWN_PART, withDescendants } from './parts.js';
import { errorsOf, problemsOf } from './problems.js';
import type { AssetTypes } from './snapshot.js';
import { mayBe, type OrderStatus, SET_BY_SAVING } from './status.js';

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

/** A submitted or completed order changes only together with its status. */
const isClosed = ({ status }: Order): boolean => status === 'submitted' || status === 'completed';
const refuseClosed = ({ status }: Order): OrderDecision =>
  conflict(`An order that is ${status} is changed only together with its processing_status: send one with the order.`);

const acceptChange = (order: Order, event: OrderEvent): OrderDecision =>
  isClosed(order) ? refuseClosed(order) : accept(event);

/**
 * PUT on an order. With nothing but the status (and its reasons) it is the status update of spec §4.9;
 * with other fields, or parts, it changes the order, which is then `saved` unless a status is sent too.
 */
export function updateOrder(order: Order, orderId: string, input: RecordInput, parts: PartsChange): OrderDecision {
  if (input.id !== undefined && input.id !== orderId) return refuse('id', 'The id differs from the one in the path.');
  const { processing_status: sent, error_reason: errorReason, ...rest } = input.fields;
  if (sent === null) return refuse('processing_status', 'The processing_status field must not be null.');
  const set = changedFields(order.fields, rest);
  const status = sent as OrderStatus | undefined;
  const events: OrderEvent[] = [];
  let now = order;
  const happens = (event: OrderEvent, to: OrderStatus): void => {
    events.push(event);
    now = { ...now, status: to };
  };
  if (Object.keys(set).length > 0) {
    const moved = status === undefined ? move(now, 'saved') : stay(now);
    happens({ type: 'OrderChanged', data: { changes: changesOf(order.fields, set), status: moved } }, moved.to);
  }
  if (parts.added.length + parts.changed.length + parts.removed.length > 0) {
    const moved = status === undefined ? statusAfterPartChange(now) : stay(now);
    happens({ type: 'OrderPartsChanged', data: { ...parts, status: moved } }, moved.to);
  }
  if (status === undefined && events.length > 0 && isClosed(order)) return refuseClosed(order);
  if (status !== undefined || errorReason !== undefined) {
    const reasons = errorReason === undefined ? reasonsKept(order, status) : (errorReason as readonly string[] | null);
    const moved = move(now, status ?? now.status);
    if (moved.to !== moved.from || JSON.stringify(reasons) !== JSON.stringify(order.fields.error_reason ?? null))
      events.push({ type: 'OrderStatusChanged', data: { status: moved, errorReason: reasons } });
  }
  return accept(...events);
}

/** A status other than `submit_failed` clears the reasons of an earlier failure. */
function reasonsKept({ fields }: Order, status: OrderStatus | undefined): readonly string[] | null {
  const keeps = status === undefined || status === 'submit_failed';
  return keeps && Array.isArray(fields.error_reason) ? fields.error_reason : null;
}

/** A person's save: the order becomes `saved`, or `validated` if the body says so and the order has all that an export needs. */
export function saveOrder(
  order: Order,
  orderId: string,
  { fields, ...input }: RecordInput,
  parts: PartsChange,
  assetTypes: AssetTypes,
): OrderDecision {
  if (!mayBe('save', order.status)) return conflict(`An order that is ${order.status} cannot be saved.`);
  const status = SET_BY_SAVING.find((each) => each === (fields.processing_status ?? 'saved'));
  if (status === undefined)
    return refuse('processing_status', 'The processing_status field must be saved or validated here.');
  const decision = updateOrder(order, orderId, { ...input, fields: { ...fields, processing_status: status } }, parts);
  if (status === 'saved' || decision.kind !== 'accepted') return decision;
  const saved = decision.events.reduce((state, event) => evolve(state, event, { id: '', at: '' }), order);
  const missing = problemsOf(orderAlone(assetTypes, orderId, saved), assetTypes, 'missing');
  return missing.length > 0 ? { kind: 'invalid', errors: errorsOf(missing) } : decision;
}

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
    return { kind: 'invalid', errors: unknownParent(parent.field) };
  const data = { table, id, fields: withoutNulls(input.fields), status: statusAfterPartChange(order) };
  return acceptChange(order, { type: 'OrderPartAdded', data });
}

export function updatePart(order: Order, assetType: AssetType, id: string, input: RecordInput): OrderDecision {
  const before = order.parts.get(id)?.fields ?? {};
  if (input.id !== undefined && input.id !== id) return refuse('id', 'The id differs from the one in the path.');
  const set = changedFields(before, input.fields);
  const parent = assetType.parent?.field ?? '';
  if (Object.hasOwn(set, parent))
    return refuse(parent, `The ${parent} field cannot be changed: a part stays with its order.`);
  if (Object.keys(set).length === 0) return accept();
  const data = { table: assetType.name, id, changes: changesOf(before, set), status: statusAfterPartChange(order) };
  return acceptChange(order, { type: 'OrderPartChanged', data });
}

/** Removes a part, with the parts that belong to it. */
export function removePart(order: Order, partId: string, assetTypes: AssetTypes): OrderDecision {
  const removed = withDescendants(assetTypes, order.parts, ({ id }) => id === partId);
  const data = { added: [], changed: [], removed, status: statusAfterPartChange(order) };
  return acceptChange(order, { type: 'OrderPartsChanged', data });
}

/** A change of parts makes an order `saved`, except a new one, which is still being filled. */
const statusAfterPartChange = (order: Order): StatusChange =>
  order.status === 'pending_validation' ? stay(order) : move(order, 'saved');

export const unknownParent = (field: string): FieldErrors => ({
  [field]: [`The ${field} field names no known record.`],
});
