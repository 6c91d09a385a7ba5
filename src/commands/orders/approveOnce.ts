/** An approval that is carried out once: its event names the request that caused it (decision 0027). */

import type { User } from '../../domain/identity/events.js';
import type { KeyedRequest } from '../../domain/keyedRequest.js';
import { orderStream } from '../../domain/streams.js';
import type { Application } from '../application.js';
import { causedBy, ownAppend } from '../carriedOut.js';
import { type ApprovedOrder, type Caller, ConflictError } from '../context.js';
import { carryOutOnce, replaying } from '../keyedRequest.js';
import { assetTypeOf, recordId, tenantOf } from '../tables.js';
import { withDeadline } from '../writeStream.js';
import { approveOrder } from './lifecycle.js';
import { orderView } from './orderWriter.js';

/** `approveOrder`, once for each key. @param body that the key is bound to */
export async function approveOrderOnce(
  commands: Application,
  caller: Caller,
  id: string,
  user: User,
  reason: string | undefined,
  { key, body }: { readonly key: string; readonly body: unknown },
): Promise<ApprovedOrder> {
  const { orderModel } = tenantOf(commands, caller.tenant);
  const orderId = recordId(orderModel, id);
  const find = replaying((request) => approvedBy(commands, caller, orderId, request));
  const named = { table: orderModel, key, body: ['approve', orderId, body] };
  return carryOutOnce<Omit<ApprovedOrder, 'position'>>(commands, caller, named, {
    find,
    run: (request) =>
      approveOrder(commands, { ...caller, causationId: request.id }, orderId, user, reason).catch(async (error) => {
        // The refusal may come from a concurrent send of this very request, which was first.
        const byAnother = error instanceof ConflictError ? await find(request) : undefined;
        if (byAnother === undefined) throw error;
        return byAnother;
      }),
  });
}

/** The order as it was after the approval that the request caused; undefined when it caused none. */
async function approvedBy(
  commands: Application,
  caller: Caller,
  orderId: string,
  request: KeyedRequest,
): Promise<ApprovedOrder | undefined> {
  const { tenant } = caller;
  const stream = orderStream(tenant, orderId);
  const [approval] = await ownAppend(commands, caller, { stream, after: -1, isOwn: causedBy(request.id) });
  if (approval === undefined) return undefined;
  const order = (await withDeadline(caller, commands.orders.loadAt(tenant, orderId, approval.revision)))?.state;
  if (order === undefined) return undefined;
  const record = orderView(assetTypeOf(tenantOf(commands, tenant), order.table), orderId, order);
  const { repeats = [], warnings = [] } = order.lastApproval ?? {};
  return { position: approval.position, id: orderId, record, repeats, warnings };
}
