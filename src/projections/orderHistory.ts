/** The history of each order for auditors: who changed what and when, from which status to which, and why. */
import type { Fields } from '../domain/assetTypes/fieldTypes.js';
import { TENANT_STREAM_PREFIX } from '../domain/identity/directory.js';
import { warningText } from '../domain/order/approval.js';
import type { Changes, OrderEvent, PartChanges, PartFields } from '../domain/order/events.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { HistoryEntry } from '../ports/orderHistory.js';
import type { Projection } from '../ports/projection.js';

export const orderHistoryProjection: Projection = {
  name: 'order_history',
  version: 1,
  streamPrefixes: [TENANT_STREAM_PREFIX, STREAM_PREFIXES.order],
  async apply(event, tenant, target) {
    const { category, rest: orderId } = parseStream(event.stream);
    if (event.type === 'TenantDeleted') await target.dropTenant('order_history', tenant.name);
    if (category !== 'order') return;
    await target.addHistory(tenant.name, orderId, [historyEntry(event, tenant.orderModel, orderId)]);
  },
};

function historyEntry(recorded: RecordedEvent, orderModel: string, orderId: string): HistoryEntry {
  const event = { type: recorded.type, data: recorded.data } as OrderEvent;
  const { metadata } = recorded;
  const isFirst = event.type === 'OrderCreated' || event.type === 'OrderCreatedWithParts';
  const status = isFirst ? { from: null, to: event.data.status } : event.data.status;
  return {
    position: recorded.position,
    revision: recorded.revision,
    eventId: recorded.id,
    eventType: event.type,
    at: metadata.occurredAt,
    actor: metadata.actor,
    correlationId: metadata.correlationId,
    causationId: metadata.causationId,
    statusFrom: status.from,
    statusTo: status.to,
    reasons: reasonsOf(event),
    ...(event.type === 'OrderApproved' && event.data.repeats !== undefined ? { repeats: event.data.repeats } : {}),
    ...warned(event),
    changes: changesOf(event, orderModel, orderId),
  };
}

function warned(event: OrderEvent): Pick<HistoryEntry, 'warnings'> {
  if (event.type === 'OrderExportHeld') return { warnings: [event.data.warning] };
  return event.type === 'OrderApproved' && event.data.warnings !== undefined ? { warnings: event.data.warnings } : {};
}

function reasonsOf(event: OrderEvent): readonly string[] {
  switch (event.type) {
    case 'OrderStatusChanged':
      return event.data.errorReason ?? [];
    case 'OrderApproved':
      return event.data.override === undefined ? [] : [event.data.override.reason];
    case 'OrderExportHeld':
      return [warningText(event.data.warning)];
    case 'OrderRejected':
    case 'OrderExportFailed':
    case 'OrderExportDelivered':
      return event.data.reasons;
    default:
      return [];
  }
}

type HistoryChanges = HistoryEntry['changes'];

function changesOf(event: OrderEvent, orderModel: string, orderId: string): HistoryChanges {
  switch (event.type) {
    case 'OrderCreated':
      return added(orderModel, orderId, event.data.fields);
    case 'OrderCreatedWithParts':
      return [...added(orderModel, orderId, event.data.fields), ...event.data.parts.flatMap(addedPart)];
    case 'OrderChanged':
      return changed(orderModel, orderId, event.data.changes);
    case 'OrderPartAdded':
      return addedPart(event.data);
    case 'OrderPartChanged':
      return changedPart(event.data);
    case 'OrderPartsChanged':
      return [
        ...event.data.removed.flatMap(removedPart),
        ...event.data.changed.flatMap(changedPart),
        ...event.data.added.flatMap(addedPart),
      ];
    default:
      return [];
  }
}

const added = (table: string, id: string, fields: Fields): HistoryChanges =>
  Object.entries(fields).map(([field, to]) => ({ table, id, field, from: null, to }));

const addedPart = ({ table, id, fields }: PartFields): HistoryChanges => added(table, id, fields);

const removedPart = ({ table, id, fields }: PartFields): HistoryChanges =>
  Object.entries(fields).map(([field, from]) => ({ table, id, field, from, to: null }));

const changedPart = ({ table, id, changes }: PartChanges): HistoryChanges => changed(table, id, changes);

const changed = (table: string, id: string, changes: Changes): HistoryChanges =>
  Object.entries(changes).map(([field, { from, to }]) => ({ table, id, field, from, to }));
