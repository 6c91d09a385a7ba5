/** Create and update of an order (spec §4.5, §4.6, §4.9), and of its parts: lines; consignments, goods, allowances and charges. */
import { type AssetType, type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import { addPart, createOrder, unknownParent, updateOrder, updatePart } from '../../domain/order/decide.js';
import type { Order } from '../../domain/order/order.js';
import { type Commands, type CreateRecord, NotFoundError, type UpdateRecord, ValidationError } from '../context.js';
import { assetTypeOf, tenantOf } from '../tables.js';
import { orderView, writeNewOrder, writeOrder } from './orderWriter.js';

export const createOrderRecord: CreateRecord = async (commands, caller, assetType, input) => {
  const id = input.id ?? commands.newId();
  const { position, order } = await writeNewOrder(commands, caller, id, createOrder(assetType, input));
  return { position, id, record: orderView(assetType, id, order) };
};

export const updateOrderRecord: UpdateRecord = async (commands, caller, assetType, id, input) => {
  const { position, order } = await writeOrder(commands, caller, id, (current) => updateOrder(current, id, input));
  return { position, id, record: orderView(assetType, id, order) };
};

/** @throws ValidationError when the parent field names no known order (or part of one) */
export const createPartRecord: CreateRecord = async (commands, caller, assetType, input) => {
  const id = commands.newId();
  const orderId = await orderOfParent(commands, caller.tenant, assetType, input.fields[assetType.parent?.field ?? '']);
  try {
    if (orderId === undefined) throw unknownParentOf(assetType);
    const { position, order } = await writeOrder(commands, caller, orderId, (current) =>
      addPart(current, assetType, input, id),
    );
    return { position, id, record: partView(assetType, order, id) };
  } catch (error) {
    if (error instanceof NotFoundError) throw unknownParentOf(assetType);
    throw error;
  }
};

export const updatePartRecord: UpdateRecord = async (commands, caller, assetType, id, input) => {
  const known = await commands.readModels.get({ tenant: caller.tenant, table: assetType.name }, id);
  const parent = known === undefined ? undefined : JSON.parse(known)[assetType.parent?.field ?? ''];
  const orderId = await orderOfParent(commands, caller.tenant, assetType, parent);
  if (orderId === undefined) throw new NotFoundError(`There is no record ${id} in ${assetType.name}.`);
  const { position, order } = await writeOrder(commands, caller, orderId, (current) =>
    updatePart(current, assetType, id, input),
  );
  return { position, id, record: partView(assetType, order, id) };
};

/** The id of the order that a part's parent field leads to, over other parts if need be; undefined when it leads nowhere. */
async function orderOfParent(
  commands: Commands,
  tenant: string,
  assetType: AssetType,
  value: unknown,
): Promise<string | undefined> {
  const parent = assetType.parent;
  if (parent === undefined || typeof value !== 'string') return undefined;
  const parentType = assetTypeOf(tenantOf(commands, tenant), parent.table);
  if (parentType.role === 'order') return value;
  const record = await commands.readModels.get({ tenant, table: parent.table }, value);
  if (record === undefined) return undefined;
  return orderOfParent(commands, tenant, parentType, JSON.parse(record)[parentType.parent?.field ?? '']);
}

const unknownParentOf = ({ parent }: AssetType): ValidationError =>
  new ValidationError(unknownParent(parent?.field ?? 'order_id'));

function partView(assetType: AssetType, order: Order, id: string): RecordView {
  const part = order.parts.get(id);
  if (part === undefined) throw new Error(`Part ${id} is not in its order.`);
  return recordView(assetType, part);
}
