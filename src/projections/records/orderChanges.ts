import type { Fields } from '../../domain/assetTypes/fieldTypes.js';
import type { Changes, OrderEvent } from '../../domain/order/events.js';
import type { RecordChange } from '../../domain/referenceTable/changes.js';

const newValues = (changes: Changes): Fields =>
  Object.fromEntries(Object.entries(changes).map(([field, { to }]) => [field, to]));

/** What an event of an order changes: the order's own record, and those of its parts. */
export function orderChanges(
  event: OrderEvent,
  orderModel: string,
  orderId: string,
  at: string,
): readonly { readonly table: string; readonly change: RecordChange }[] {
  if (event.type === 'OrderCreated') {
    const { table, fields, status } = event.data;
    const all = { ...fields, processing_status: status };
    return [{ table, change: { kind: 'insert', id: orderId, at, batchId: null, fields: all } }];
  }
  const { from, to } = event.data.status;
  const withStatus = (set: Fields) => ({
    table: orderModel,
    change: { kind: 'patch' as const, id: orderId, at, set: { ...set, processing_status: to } },
  });
  const statusOnly = from === to ? [] : [withStatus({})];
  switch (event.type) {
    case 'OrderChanged':
      return [withStatus(newValues(event.data.changes))];
    case 'OrderPartAdded': {
      const { table, id, fields } = event.data;
      return [{ table, change: { kind: 'insert', id, at, batchId: null, fields } }, ...statusOnly];
    }
    case 'OrderPartChanged': {
      const { table, id, changes } = event.data;
      return [{ table, change: { kind: 'patch', id, at, set: newValues(changes) } }, ...statusOnly];
    }
    case 'OrderStatusChanged':
      return [withStatus({ error_reason: event.data.errorReason })];
    case 'OrderApproved':
      return [
        withStatus({ approved_at: event.data.approvedAt, approved_by: event.data.approver.id, error_reason: null }),
      ];
    case 'OrderRejected':
    case 'OrderExportFailed':
      return [withStatus({ error_reason: event.data.reasons.length > 0 ? event.data.reasons : null })];
  }
}
