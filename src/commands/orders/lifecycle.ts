/** The states of an order (spec §3): people save, approve and reject it. */
import type { Tenant } from '../../domain/identity/directory.js';
import type { User } from '../../domain/identity/events.js';
import {
  approvalWarnings,
  approveOrder as decideApproval,
  rejectOrder as decideRejection,
} from '../../domain/order/approval.js';
import type { OrderEvent } from '../../domain/order/events.js';
import { approverOf, OrderDocumentTooLargeError, orderDocument } from '../../domain/order/exportDocument.js';
import { evolve, type Order } from '../../domain/order/order.js';
import { errorsOf, missingOf, type Problem, problemsOf } from '../../domain/order/problems.js';
import type { ExportSnapshot } from '../../domain/order/snapshot.js';
import { mayBe, SET_BY_SAVING } from '../../domain/order/status.js';
import type { Application } from '../application.js';
import { type ApprovedOrder, type Caller, ConflictError, ValidationError, type WrittenRecord } from '../context.js';
import { type Keyed, once } from '../idempotency.js';
import { assetTypeOf, recordId, tenantOf } from '../tables.js';
import { loadOrder } from './loadOrder.js';
import { updateOrder } from './orderRecords.js';
import { exportSnapshot, orderView, snapshotOf, type WrittenOrder, writeOrder } from './orderWriter.js';

/**
 * Approves an order that is `validated` or `failed`; its export follows.
 * @param reason why it is approved in spite of its problems
 * @param keyed an Idempotency-Key, and the body that it stands for
 * @throws ConflictError in another state; ValidationError with its problems when no reason is given
 */
export async function approveOrder(
  commands: Application,
  caller: Caller,
  id: string,
  user: User,
  reason?: string,
  { key, body }: Pick<Keyed, 'key' | 'body'> = { body: {} },
): Promise<ApprovedOrder> {
  const { tenant } = caller;
  const { orderModel, assetTypes, webhooks } = tenantOf(commands, tenant);
  const orderId = recordId(orderModel, id);
  const approved = (written: WrittenOrder): ApprovedOrder => {
    const { warnings = [] } = written.order.lastApproval ?? {};
    return { ...view(commands, caller, orderId, written), warnings };
  };
  const approve = (own: Caller): Promise<WrittenOrder> =>
    writeOrder(commands, own, orderId, async (order, at) => {
      const snapshot = await exportSnapshot(commands, tenant, orderId, order);
      checkDocument(snapshot, assetTypes);
      const problems = problemsOf(snapshot, assetTypes);
      const warnings = approvalWarnings(webhooks.values());
      return decideApproval(order, approverOf(user), at, snapshot, { problems, reason, warnings });
    });
  const request = { table: orderModel, key, body: ['approve', orderId, body] };
  const run = async (own: Caller) => approved(await approve(own));
  return once<ApprovedOrder>(commands, caller, request, run, async ({ revision, position }) => {
    const until = { ...(revision !== undefined && { revision }), cancellation: caller.deadline };
    const order = (await loadOrder(commands.eventStore, tenant, orderId, until))?.state;
    return order && approved({ position, order });
  });
}

/** @throws ConflictError when the order is too large to be exported */
function checkDocument(snapshot: ExportSnapshot, assetTypes: Tenant['assetTypes']): void {
  try {
    orderDocument(snapshot, undefined, assetTypes);
  } catch (error) {
    throw error instanceof OrderDocumentTooLargeError ? new ConflictError(error.message) : error;
  }
}

/** @param reasons shown with the order; at least one */
export async function rejectOrder(
  commands: Application,
  caller: Caller,
  id: string,
  reasons: readonly string[],
): Promise<WrittenRecord> {
  const { orderModel } = tenantOf(commands, caller.tenant);
  const orderId = recordId(orderModel, id);
  const written = await writeOrder(commands, caller, orderId, (order) => decideRejection(order, reasons));
  return view(commands, caller, orderId, written);
}

/**
 * Saves a validator's changes, including those of parts. The order becomes `saved`, or `validated` if the body asks for it
 * and the order has all that an export needs.
 * @param body asset fields; `processing_status` may only be `saved` or `validated`
 * @param check of the order before the change; throws to refuse
 * @throws ValidationError naming the missing fields; ConflictError when the order is submitted or completed
 */
export async function saveOrder(
  commands: Application,
  caller: Caller,
  id: string,
  body: unknown,
  check?: (order: Order) => Promise<void>,
): Promise<WrittenRecord & { readonly order: Order }> {
  const tenant = tenantOf(commands, caller.tenant);
  const assetType = assetTypeOf(tenant, tenant.orderModel);
  const orderId = recordId(assetType.name, id);
  let isValidated = false;
  return updateOrder(commands, caller, assetType, orderId, body, {
    adjust({ processing_status: asked = 'saved', ...fields }) {
      const status = SET_BY_SAVING.find((each) => each === asked);
      if (status === undefined) {
        throw new ValidationError({
          processing_status: ['The processing_status field must be saved or validated here.'],
        });
      }
      isValidated = status === 'validated';
      return { ...fields, processing_status: status };
    },
    async before(order) {
      await check?.(order);
      if (!mayBe('save', order.status)) throw new ConflictError(`An order that is ${order.status} cannot be saved.`);
    },
    async decided(order, events, at) {
      const missing = isValidated ? await missingIn(tenant, orderId, afterDecision(order, events, at)) : [];
      if (missing.length > 0) throw new ValidationError(errorsOf(missing));
    },
  });
}

/** The problems of an order that need no other table to be seen. */
async function missingIn({ assetTypes }: Tenant, id: string, order: Order): Promise<readonly Problem[]> {
  const snapshot = await snapshotOf({ assetTypes, find: async () => [] }, id, order);
  return missingOf(snapshot, assetTypes);
}

const afterDecision = (order: Order, events: readonly OrderEvent[], at: string): Order =>
  events.reduce((state, event) => evolve(state, event, { id: '', at }), order);

function view(commands: Application, caller: Caller, id: string, written: WrittenOrder): WrittenRecord {
  const tenant = tenantOf(commands, caller.tenant);
  const assetType = assetTypeOf(tenant, tenant.orderModel);
  return { position: written.position, id, record: orderView(assetType, id, written.order) };
}
