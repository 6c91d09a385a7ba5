/** Waits until the rows show what a decision depends on. */
import { tableStream, tenantOf } from '../domain/streams.js';
import type { Position } from '../ports/eventStore.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import { type Caller, type Commands, patience, TryAgainError } from './context.js';

/** How long to wait for the rows, in milliseconds. */
const CATCH_UP_MS = 30_000;

/**
 * Waits until they show the event at the position.
 * @throws RowsUnavailableError while they are not shown at all; TryAgainError with this reason when it takes too long
 */
async function untilShown(
  { progress }: Pick<Commands, 'progress'>,
  caller: Caller,
  position: Position,
  reason: string,
): Promise<void> {
  if (await progress.waitFor(caller.tenant, position, patience(caller, CATCH_UP_MS))) return;
  const refusal = progress.refusal(caller.tenant);
  throw refusal === undefined ? new TryAgainError(reason) : new RowsUnavailableError(refusal);
}

/** Waits until they show everything of the tenant that was written so far, by any process. @throws as `untilShown` */
export async function untilTenantIsShown(
  commands: Pick<Commands, 'eventStore' | 'progress'>,
  caller: Caller,
): Promise<void> {
  const end = await tenantEnd(commands, caller.tenant);
  await untilShown(commands, caller, end, `The rows of ${caller.tenant} have not caught up yet.`);
}

/** Waits until they show everything written to the table so far, by any process. @throws as `untilShown` */
export async function untilTableIsShown(
  commands: Pick<Commands, 'eventStore' | 'progress'>,
  caller: Caller,
  table: string,
): Promise<void> {
  const last = await commands.eventStore.lastAppend(tableStream(caller.tenant, table));
  if (last !== undefined)
    await untilShown(commands, caller, last.position, `The rows of ${table} have not caught up yet.`);
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
