/** Where a moment is in the log of a tenant, and in the stream of an order. */
import { ACTIVITY_KINDS } from '../domain/activity.js';
import type { EventStore, Position, Revision } from '../ports/eventStore.js';
import type { RowReads } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { entriesOf } from './activity.js';
import { compares, isOneOf } from './asking.js';

/** Position of the tenant's last event that is not after this time (ISO 8601, UTC, six digits); 0 if there is none. */
export async function positionAt(
  rows: RowReads,
  log: Pick<EventStore, 'positionAt'>,
  tenant: string,
  time: string,
  cancellation: Cancellation | undefined,
): Promise<Position> {
  if (log.positionAt !== undefined) return log.positionAt(time);
  const asked = { conditions: [compares('created_at', 'lte', time)], direction: 'desc' } as const;
  for await (const { position } of entriesOf(rows, tenant, asked, cancellation, 1)) return position;
  return 0;
}

const OF_ORDERS = ACTIVITY_KINDS.filter((kind) => kind.startsWith('order.'));

/** Revision of the order's last event up to a position; undefined before its first. */
export async function orderRevisionAt(
  rows: RowReads,
  tenant: string,
  orderId: string,
  position: Position,
  cancellation: Cancellation | undefined,
): Promise<Revision | undefined> {
  const conditions = [
    isOneOf('order_id', [orderId]),
    isOneOf('kind', OF_ORDERS),
    compares('position', 'lte', position),
  ];
  const asked = { conditions, direction: 'desc' } as const;
  for await (const { revision } of entriesOf(rows, tenant, asked, cancellation, 1)) return revision;
  return undefined;
}
