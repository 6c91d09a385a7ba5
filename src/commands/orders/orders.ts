/** Orders: created and updated with the lists of parts in their bodies (spec §4.5, §4.6, §4.9); saved, approved and rejected. */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import { checkRecord, FieldErrorList, type RecordInput } from '../../domain/assetTypes/recordSchema.js';
import type { User } from '../../domain/identity/events.js';
import {
  approveOrder as decideApproval,
  createOrder as decideCreation,
  rejectOrder as decideRejection,
  saveOrder as decideSave,
  updateOrder as decideUpdate,
} from '../../domain/order/decide.js';
import { type AssetTypes, childrenIn } from '../../domain/order/document.js';
import type { PartsChange } from '../../domain/order/events.js';
import { bareOrder, type Order } from '../../domain/order/order.js';
import { decideParts, hasParts, namedId, partLists, withoutParts } from '../../domain/order/parts.js';
import type { Application, TableWrite } from '../application.js';
import { type Caller, ValidationError, type WrittenRecord } from '../context.js';
import { newOrderId } from '../idempotency.js';
import { assetTypeOf, recordId, tenantOf } from '../tables.js';
import { withDeadline } from '../writeStream.js';
import { type OrderChange, writeNewOrder, writeOrder } from './orderStream.js';
import { exportSnapshot } from './snapshots.js';

/** @throws ValidationError with every error; those of parts are keyed by path, such as `lines.0.quantity` */
export async function createOrder({ commands, caller, assetType }: TableWrite, body: unknown): Promise<WrittenRecord> {
  const newId = await withDeadline(caller, newOrderId(commands, caller));
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const id = namedId(body) ?? newId;
  const { input, change } = checkedWhole(commands, assetTypes, { id, assetType, parts: new Map() }, 'create', body);
  const decision = decideCreation(assetType, input, change.added);
  const { position, order } = await writeNewOrder(commands, caller, id, decision);
  return { position, ...writtenOrder(assetTypes, assetType, id, order, body) };
}

/** The order as it is answered: with its parts if the body has some, each with its own parts beside its fields. */
export function writtenOrder(
  assetTypes: AssetTypes,
  assetType: AssetType,
  id: string,
  order: Order,
  body?: unknown,
): Omit<WrittenRecord, 'position'> {
  const { order: record, parts } = bareOrder(assetTypes, id, order);
  if (!hasParts(assetType, body)) return { id, record };
  const children = childrenIn(parts, assetTypes);
  const listsOf = (type: AssetType, ofId: string): NonNullable<WrittenRecord['lists']> =>
    Object.fromEntries(
      partLists(type).map((relation) => {
        const partType = assetTypeOf({ assetTypes }, relation.table);
        const list = children(relation, ofId).map((part) => ({ ...part.record, ...listsOf(partType, part.record.id) }));
        return [relation.name, list];
      }),
    );
  return { id, record, lists: listsOf(assetType, id) };
}

/** Given the order before a change; throws to refuse it. */
type Before = (order: Order) => void | Promise<void>;

/**
 * @returns the order after the change, with its parts if the body has some
 * @throws NotFoundError, ConflictError; ValidationError as `createOrder`; what `before` throws
 */
export async function updateOrder(
  { commands, caller, assetType }: TableWrite,
  id: string,
  body: unknown,
  before?: Before,
  decide: typeof decideSave = decideUpdate,
): Promise<WrittenRecord & { readonly order: Order }> {
  const { assetTypes } = tenantOf(commands, caller.tenant);
  const { position, order } = await writeOrder(commands, caller, id, async (current) => {
    await before?.(current);
    const ofOrder = { id, assetType, parts: current.parts };
    const { input, change } = checkedWhole(commands, assetTypes, ofOrder, 'update', body);
    return () => decide(current, id, input, change, assetTypes);
  });
  return { position, order, ...writtenOrder(assetTypes, assetType, id, order, body) };
}

/** Checks order and parts together, so that all errors are reported at once. @throws ValidationError */
function checkedWhole(
  { newId }: Application,
  assetTypes: AssetTypes,
  order: Parameters<typeof decideParts>[1],
  kind: 'create' | 'update',
  body: unknown,
): { readonly input: RecordInput; readonly change: PartsChange } {
  const errors = new FieldErrorList();
  const checked = checkRecord(order.assetType, kind, withoutParts(order.assetType, body));
  if (!checked.ok) errors.addAll(checked.errors);
  const change = decideParts(assetTypes, order, body, newId, errors);
  if (!checked.ok || !errors.isEmpty) throw new ValidationError(errors.toErrors());
  return { input: checked.input, change };
}

/**
 * Saves a validator's changes, including those of parts. The order becomes `saved`, or `validated` if the body asks for it
 * and the order has all that an export needs.
 * @throws ValidationError naming the missing fields; ConflictError when the order is submitted or completed
 */
export function saveOrder(
  commands: Application,
  caller: Caller,
  anyCaseId: string,
  body: unknown,
  before?: Before,
): Promise<WrittenRecord & { readonly order: Order }> {
  const tenant = tenantOf(commands, caller.tenant);
  const id = recordId(tenant.orderModel, anyCaseId);
  const assetType = assetTypeOf(tenant, tenant.orderModel);
  return updateOrder({ commands, caller, assetType }, id, body, before, decideSave);
}

/**
 * Approves an order that is `validated` or `failed`; its export follows.
 * @param reason why it is approved in spite of its problems
 * @throws ConflictError in another state; ValidationError with its problems
 */
export function approveOrder(
  commands: Application,
  caller: Caller,
  id: string,
  { id: userId, firstName: first_name, lastName: last_name, locale, email }: User,
  reason?: string,
): Promise<WrittenRecord> {
  const approver = { id: userId, first_name, last_name, locale, email };
  const tenant = tenantOf(commands, caller.tenant);
  const orderId = recordId(tenant.orderModel, id);
  return changeState(commands, caller, orderId, async (order) => {
    const snapshot = await exportSnapshot(commands.queries.records, tenant, orderId, order);
    return (approvedAt) => decideApproval(order, { approvedAt, approver }, snapshot, tenant.assetTypes, reason);
  });
}

/** @param reasons shown with the order @throws ConflictError in a state in which it cannot be rejected */
export const rejectOrder = (
  commands: Application,
  caller: Caller,
  id: string,
  reasons: readonly string[],
): Promise<WrittenRecord> => changeState(commands, caller, id, (order) => () => decideRejection(order, reasons));

async function changeState(
  commands: Application,
  caller: Caller,
  anyCaseId: string,
  change: OrderChange,
): Promise<WrittenRecord> {
  const tenant = tenantOf(commands, caller.tenant);
  const id = recordId(tenant.orderModel, anyCaseId);
  const { position, order } = await writeOrder(commands, caller, id, change);
  return { position, ...writtenOrder(tenant.assetTypes, assetTypeOf(tenant, tenant.orderModel), id, order) };
}
