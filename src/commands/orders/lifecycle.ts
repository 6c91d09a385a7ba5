/** The states of an order (spec §3): people save, approve and reject it. */
import type { User } from '../../domain/identity/events.js';
import { approveOrder as decideApproval, rejectOrder as decideRejection } from '../../domain/order/approval.js';
import { saveOrder as decideSave } from '../../domain/order/decide.js';
import { approverOf } from '../../domain/order/exportDocument.js';
import { type Order, type OrderDecision, orderView } from '../../domain/order/order.js';
import type { Application } from '../application.js';
import type { Caller, WrittenRecord } from '../context.js';
import { assetTypeOf, recordId, tenantOf } from '../tables.js';
import { updateOrder } from './orderRecords.js';
import { exportSnapshot, writeOrder } from './orderWriter.js';

/**
 * Approves an order that is `validated` or `failed`; its export follows.
 * @param reason why it is approved in spite of its problems
 * @throws ConflictError in another state; ValidationError with its problems when no reason is given;
 *   OrderDocumentTooLargeError
 */
export function approveOrder(
  commands: Application,
  caller: Caller,
  id: string,
  user: User,
  reason?: string,
): Promise<WrittenRecord> {
  return changeState(commands, caller, id, async (order, orderId, approvedAt) => {
    const tenant = tenantOf(commands, caller.tenant);
    const snapshot = await exportSnapshot(commands.queries.records, tenant, orderId, order);
    return decideApproval(order, { approvedAt, approver: approverOf(user) }, snapshot, tenant.assetTypes, reason);
  });
}

/** @param reasons shown with the order; at least one */
export const rejectOrder = (
  commands: Application,
  caller: Caller,
  id: string,
  reasons: readonly string[],
): Promise<WrittenRecord> => changeState(commands, caller, id, (order) => decideRejection(order, reasons));

async function changeState(
  commands: Application,
  caller: Caller,
  anyCaseId: string,
  decide: (order: Order, id: string, at: string) => OrderDecision | Promise<OrderDecision>,
): Promise<WrittenRecord> {
  const tenant = tenantOf(commands, caller.tenant);
  const id = recordId(tenant.orderModel, anyCaseId);
  const { position, order } = await writeOrder(commands, caller, id, (current, at) => decide(current, id, at));
  return { position, id, record: orderView(assetTypeOf(tenant, tenant.orderModel), id, order) };
}

/**
 * Saves a validator's changes, including those of parts. The order becomes `saved`, or `validated` if the body asks for it
 * and the order has all that an export needs.
 * @param before given the order before the change; throws to refuse
 * @throws ValidationError naming the missing fields; ConflictError when the order is submitted or completed
 */
export function saveOrder(
  commands: Application,
  caller: Caller,
  id: string,
  body: unknown,
  before?: (order: Order) => Promise<void>,
): Promise<WrittenRecord & { readonly order: Order }> {
  const { orderModel, assetTypes } = tenantOf(commands, caller.tenant);
  const orderType = assetTypeOf({ assetTypes }, orderModel);
  return updateOrder(commands, caller, orderType, recordId(orderModel, id), body, { before, decide: decideSave });
}
