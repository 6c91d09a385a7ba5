/** Where a tenant's events end: what its rows have to show so that they show everything. */
import { tenantOf } from '../domain/tenantOf.js';
import type { EventStore, Position } from '../ports/eventStore.js';

/** Events that are read at a time, and in all: rows have shown for long what stands behind those. */
const READ_AT_A_TIME = [20, 200, 1_000];

/** Position of the tenant's last event that rows are made of; 0 if none of the log's latest events is the tenant's. */
export async function tenantEnd(eventStore: Pick<EventStore, 'readBackwards'>, tenant: string): Promise<Position> {
  let before: Position | undefined;
  for (const count of READ_AT_A_TIME) {
    const { events, next } = await eventStore.readBackwards(count, before);
    const own = events.filter((event) => tenantOf(event) === tenant).map(({ position }) => position);
    if (own.length > 0) return Math.max(...own);
    if (next === undefined) return 0;
    before = next;
  }
  return 0;
}
