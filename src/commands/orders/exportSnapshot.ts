/** Gathers what an export is made of, at the moment of approval. */
import { type AssetType, type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import type { ExportSnapshot } from '../../domain/order/exportDocument.js';
import type { Order } from '../../domain/order/order.js';
import type { StoredRecord } from '../../ports/readModels.js';
import type { Commands } from '../context.js';
import { assetTypeOf, tenantOf } from '../tables.js';
import { orderView } from './orderWriter.js';

/** By table, then by the value that names a record there. */
type Related = Map<string, Map<string, RecordView>>;

/** The order and its parts as they are in the log, and the reference records they name as the read model shows them. */
export async function exportSnapshot(
  commands: Commands,
  tenantName: string,
  orderId: string,
  order: Order,
): Promise<ExportSnapshot> {
  const { assetTypes } = tenantOf(commands, tenantName);
  const typeOf = (table: string): AssetType => assetTypeOf({ assetTypes }, table);
  const head = orderView(typeOf(order.table), orderId, order);
  const parts = [...order.parts.values()].map((part) => ({
    table: part.table,
    record: recordView(typeOf(part.table), part),
  }));
  const related: Related = new Map();
  let found = [{ table: order.table, record: head }, ...parts];
  // What a record names may name others in turn (an item its unit code); tables do not refer in circles, and two steps are all there are.
  while (found.length > 0) found = await findRelated(commands, tenantName, typeOf, found, related);
  return {
    table: order.table,
    order: head,
    parts,
    related: Object.fromEntries([...related].map(([table, records]) => [table, Object.fromEntries(records)])),
  };
}

async function findRelated(
  commands: Commands,
  tenant: string,
  typeOf: (table: string) => AssetType,
  records: readonly { readonly table: string; readonly record: RecordView }[],
  related: Related,
): Promise<{ table: string; record: RecordView }[]> {
  const wanted = new Map<string, { table: string; key: string; values: Set<string> }>();
  for (const { table, record } of records) {
    for (const relation of typeOf(table).relationships) {
      const value = record[relation.field];
      if (relation.kind !== 'belongs_to' || typeof value !== 'string' || typeOf(relation.table).role !== 'reference')
        continue;
      if (related.get(relation.table)?.has(value) === true) continue;
      const name = `${relation.table}.${relation.key}`;
      const entry = wanted.get(name) ?? { table: relation.table, key: relation.key, values: new Set() };
      entry.values.add(value);
      wanted.set(name, entry);
    }
  }
  const found: { table: string; record: RecordView }[] = [];
  for (const { table, key, values } of wanted.values()) {
    const records = related.get(table) ?? new Map<string, RecordView>();
    related.set(table, records);
    for (const stored of await commands.readModels.find({ tenant, table }, key, [...values])) {
      const record = recordView(typeOf(table), stored);
      records.set(keyValue(stored, key), record);
      found.push({ table, record });
    }
  }
  return found;
}

const keyValue = (record: StoredRecord, key: string): string => (key === 'id' ? record.id : String(record.fields[key]));
