/** Waits until the rows show what a decision depends on. */
import { tableStream, tenantOf } from '../domain/streams.js';
import type { Position } from '../ports/eventStore.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import { type Caller, type Commands, patience, TryAgainError } from './context.js';

/** How long to wait for the rows, in milliseconds. */
const CATCH_UP_MS = 30_000;

/**
 * Waits until they show everything of the tenant, or of this table, that was written so far, by any process.
 * @throws RowsUnavailableError while they are not shown at all; TryAgainError when it takes too long
 */
export async function untilShown(
  { eventStore, progress }: Pick<Commands, 'eventStore' | 'progress'>,
  caller: Caller,
  table?: string,
): Promise<void> {
  const { tenant } = caller;
  const position =
    table === undefined
      ? await tenantEnd({ eventStore, progress }, tenant)
      : (await eventStore.lastAppend(tableStream(tenant, table)))?.position;
  if (position === undefined || (await progress.waitFor(tenant, position, patience(caller, CATCH_UP_MS)))) return;
  const refusal = progress.refusal(tenant);
  if (refusal !== undefined) throw new RowsUnavailableError(refusal);
  throw new TryAgainError(`The rows of ${table ?? tenant} have not caught up yet.`);
}

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
