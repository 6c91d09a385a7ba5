/** Create and update of an order through its record (spec §4.5, §4.6, §4.9). */
import type { AssetType } from '../../domain/assetTypes/assetType.js';
import type { RecordInput } from '../../domain/assetTypes/recordSchema.js';
import { createOrder, updateOrder } from '../../domain/order/decide.js';
import { type Caller, type Commands, ValidationError } from '../context.js';
import type { WrittenRecord } from '../recordView.js';
import { acceptedEvents, appendOrder, orderView, writeOrder } from './orderWriter.js';

export async function createOrderRecord(
  commands: Commands,
  caller: Caller,
  assetType: AssetType,
  input: RecordInput,
): Promise<WrittenRecord> {
  const id = input.id ?? commands.newId();
  const before = { at: commands.now(), revision: -1, order: undefined };
  const written = await appendOrder(commands, caller, id, acceptedEvents(createOrder(assetType, input)), before);
  if (written === undefined) throw new ValidationError({ id: [`The id ${id} is taken.`] });
  return { position: written.position, id, record: orderView(assetType, id, written.order) };
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
