/** Create and update of an order through its record (spec §4.5, §4.6, §4.9). */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { createOrder, updateOrder } from '../../domain/order/decide.js';
import type { Caller, Commands } from '../context.js';
import type { WrittenRecord } from '../recordView.js';
import { orderView, writeNewOrder, writeOrder } from './orderWriter.js';

export async function createOrderRecord(
  commands: Commands,
  caller: Caller,
  assetType: AssetType,
  input: RecordInput,
): Promise<WrittenRecord> {
  const id = input.id ?? commands.newId();
  const { position, order } = await writeNewOrder(commands, caller, id, createOrder(assetType, input));
  return { position, id, record: orderView(assetType, id, order) };
}

export async function updateOrderRecord(
  commands: Commands,
  caller: Caller,
  assetType: AssetType,
  id: string,
  input: RecordInput,
): Promise<WrittenRecord> {
  const { position, order } = await writeOrder(commands, caller, id, (current) => updateOrder(current, id, input));
  return { position, id, record: orderView(assetType, id, order) };
}
