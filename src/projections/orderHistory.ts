/** The history of each order for auditors: who changed what and when, from which status to which, and why. */
import { TENANT_STREAM_PREFIX } from '../domain/identity/directory.js';
import { toldOfOrder } from '../domain/order/differences.js';
import type { OrderEvent } from '../domain/order/events.js';
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
  const { metadata } = recorded;
  return {
    position: recorded.position,
    revision: recorded.revision,
    eventId: recorded.id,
    eventType: recorded.type,
    at: metadata.occurredAt,
    actor: metadata.actor,
    correlationId: metadata.correlationId,
    causationId: metadata.causationId,
    ...toldOfOrder({ type: recorded.type, data: recorded.data } as OrderEvent, orderModel, orderId),
  };
}
