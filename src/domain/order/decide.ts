/** The rules of an order and its parts: create, update, removal (spec §4.5, §4.6, §4.9). Pure: times and ids are arguments. */
import type { AssetType } from '../assetTypes/assetType.js';
import type { FieldErrors } from '../assetTypes/fieldErrors.js';
import { changesOf, type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import type { RecordInput } from '../assetTypes/recordSchema.js';
import { MAX_ORDER_PARTS } from '../limits.js';
import { changedFields, withoutNulls } from '../referenceTable/decide.js';
import type { OrderEvent, PartFields, PartsChange, StatusChange } from './events.js';
import { accept, conflict, move, type Order, type OrderDecision, refuse, stay } from './order.js';
import { tooManyParts, UNKNOWN_PART, withDescendants } from './parts.js';
import type { OrderStatus } from './status.js';

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
function refuseClosed(order: Order): OrderDecision | undefined {
  if (order.status !== 'submitted' && order.status !== 'completed') return undefined;
  return conflict(
    `An order that is ${order.status} is changed only together with its processing_status: send one with the order.`,
  );
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
  const changes = changesOf(order.fields, set);
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

/** A status other than `submit_failed` clears the reasons of an earlier failure. */
function reasonsKept(order: Order, status: OrderStatus | undefined): readonly string[] | null {
  const current = order.fields.error_reason;
  const keeps = status === undefined || status === 'submit_failed';
  return keeps && Array.isArray(current) ? current : null;
}

const sameReasons = (a: readonly string[] | null, b: unknown): boolean =>
  JSON.stringify(a) === JSON.stringify(b ?? null);

/**
 * A new line, consignment, goods or charge.
 * @param order the one that the parent field of the part leads to
 */
export function addPart(order: Order, assetType: AssetType, input: RecordInput, newId: string): OrderDecision {
  if (input.id !== undefined) return refuse('id', UNKNOWN_PART);
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
  const changes = changesOf(part.fields, set);
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

/** A change of parts makes an order `saved`, except a new one, which is still being filled. */
const statusAfterPartChange = (order: Order): StatusChange =>
  order.status === 'pending_validation' ? stay(order) : move(order, 'saved');

/** The parent of a part of a part (goods of a consignment) must be a part of the same order. */
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
