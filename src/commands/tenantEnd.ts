/** Where a tenant's events end: what its rows have to show so that they show everything. */
import { tenantOf } from '../domain/tenantOf.js';
import type { Position } from '../ports/eventStore.js';
import type { Commands } from './context.js';

/** Events that are read at a time. Where none is the tenant's, it ends somewhere behind them. */
const READ_AT_A_TIME = [20, 200, 1_000];

/** A position that the tenant's rows have when they show all that the log has of it now; 0 if it has nothing. */
export async function tenantEnd(
  { eventStore, progress }: Pick<Commands, 'eventStore' | 'progress'>,
  tenant: string,
): Promise<Position> {
  // Nothing has to be read for it.
  if (progress.isTold) return eventStore.head();
  let before: Position | undefined;
  for (const count of READ_AT_A_TIME) {
    const { events, next } = await eventStore.readBackwards(count, before);
    const own = events.filter((event) => tenantOf(event) === tenant).map(({ position }) => position);
    if (own.length > 0) return Math.max(...own);
    if (next === undefined) return 0;
    before = next;
  }
  return before ?? 0;
}
