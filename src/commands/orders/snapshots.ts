/** Makes the snapshots that documents of orders are made of: of one order for its export, and of those of a list. */
import { type RecordView, recordView } from '../../domain/assetTypes/assetType.js';
import type { Tenant } from '../../domain/identity/directory.js';
import { AnswerTooLargeError } from '../../domain/jsonSize.js';
import { MAX_COUNTED_PARTS } from '../../domain/limits.js';
import { TO_DO } from '../../domain/order/decide.js';
import { isReference, nameIn, wholeOrder } from '../../domain/order/document.js';
import type { ExportSnapshot, SnapshotPart } from '../../domain/order/events.js';
import { bareOrder, type Order } from '../../domain/order/order.js';
import { partLists } from '../../domain/order/parts.js';
import type { RecordQueries } from '../../queries/records.js';
import type { Cancellation } from '../../supervision/cancellation.js';
import { nextTurn } from '../../supervision/waiting.js';
import { assetTypeOf } from '../tables.js';

type TenantTables = Pick<Tenant, 'name' | 'assetTypes'>;

/** The order and its parts from the log, and the reference records that they refer to from the rows. */
export async function exportSnapshot(
  records: Pick<RecordQueries, 'find'>,
  tenant: TenantTables,
  orderId: string,
  order: Order,
): Promise<ExportSnapshot> {
  const snapshot = bareOrder(tenant.assetTypes, orderId, order);
  return { ...snapshot, related: await relatedRecords(records, tenant, [snapshot]) };
}

/** The reference records that the orders and their parts refer to. */
async function relatedRecords(
  records: Pick<RecordQueries, 'find'>,
  { name: tenant, assetTypes }: TenantTables,
  snapshots: readonly Omit<ExportSnapshot, 'related'>[],
): Promise<ExportSnapshot['related']> {
  const related = new Map<string, Map<string, RecordView>>();
  // A record may refer to others in turn (an item to its unit code). Tables do not refer in circles: two rounds are all.
  let found: readonly SnapshotPart[] = snapshots.flatMap(({ table, order, parts }) => [
    { table, record: order },
    ...parts,
  ]);
  while (found.length > 0) {
    const next: SnapshotPart[] = [];
    for (const from of new Set(found.map((each) => each.table)))
      for (const relation of assetTypeOf({ assetTypes }, from).relationships) {
        const { table, key, field } = relation;
        const known = related.get(table) ?? new Map<string, RecordView>();
        const names = new Set(found.filter((each) => each.table === from).map(({ record }) => nameIn(record, field)));
        const wanted = [...names].filter((name) => name !== '' && !known.has(name));
        if (wanted.length === 0 || !isReference(assetTypes, relation)) continue;
        related.set(table, known);
        for (const stored of await records.find({ tenant, table }, key, wanted)) {
          const record = recordView(assetTypeOf({ assetTypes }, table), stored);
          known.set(nameIn(record, key), record);
          next.push({ table, record });
        }
      }
    found = next;
  }
  const entries = [...related].map(([table, records]) => [table, Object.fromEntries(records)]);
  return Object.fromEntries(entries);
}

/**
 * Orders of the rows with how many lines they have, and how many problems: those of now, as they depend on records that come
 * later. Problems of orders on which nobody works any more are null; both are where the orders have too many or too large parts.
 * @throws the cancellation's reason
 */
export async function countedOrders(
  records: RecordQueries,
  tenant: Tenant,
  orders: readonly RecordView[],
  cancellation: Cancellation,
) {
  const { name, assetTypes, orderModel: table } = tenant;
  const orderType = assetTypeOf(tenant, table);
  const all = orders.map((order) => ({ table, order, parts: [] as SnapshotPart[] }));
  /** By the ids of orders and of their parts. */
  const snapshots = new Map(all.map((snapshot) => [snapshot.order.id, snapshot]));
  try {
    const parents = [{ type: orderType, ids: orders.map(({ id }) => id) }];
    for (const { type, ids } of parents)
      for (const { table: space, field } of partLists(type)) {
        const filters = [{ kind: 'equals', field, anyOf: ids }] as const;
        const asked = { filters, direction: 'asc', limit: MAX_COUNTED_PARTS } as const;
        const parts = await records.recordsBehind({ tenant: name, table: space }, asked, cancellation);
        for (const record of parts.records) {
          const snapshot = snapshots.get(nameIn(record, field));
          snapshot?.parts.push({ table: space, record });
          if (snapshot !== undefined) snapshots.set(record.id, snapshot);
        }
        if (!parts.isAll || snapshots.size > all.length + MAX_COUNTED_PARTS)
          throw new AnswerTooLargeError('The orders have too many parts.');
        if (parts.records.length > 0)
          parents.push({ type: assetTypeOf(tenant, space), ids: parts.records.map(({ id }) => id) });
      }
    const isToDo = ({ order }: (typeof all)[number]) => TO_DO.some((each) => each === order.processing_status);
    const related = await relatedRecords(records, tenant, all.filter(isToDo));
    const counted = [];
    for (const snapshot of all) {
      await nextTurn(name);
      const lines = snapshot.parts.filter((part) => part.table === partLists(orderType)[0]?.table).length;
      const problems = isToDo(snapshot) ? wholeOrder({ ...snapshot, related }, assetTypes).problems.length : null;
      counted.push({ ...snapshot.order, lines, problems });
    }
    return counted;
  } catch (error) {
    if (!(error instanceof AnswerTooLargeError)) throw error;
    return orders.map((order) => ({ ...order, lines: null, problems: null }));
  }
}
