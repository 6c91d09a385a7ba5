/** Waiting until the read models show what a decision rests on. */
import { tableStream } from '../domain/streams.js';
import type { Position } from '../ports/eventStore.js';
import type { TableRef } from '../ports/readModels.js';
import { type Caller, type Commands, patience, TryAgainError } from './context.js';

/** How long to wait for the read models, in milliseconds. */
export const CATCH_UP_MS = 30_000;

/** Until they show the event at the position. @throws TryAgainError with the reason where they do not in time */
export async function untilShown(
  { readModels }: Pick<Commands, 'readModels'>,
  caller: Caller,
  position: Position,
  reason: string,
): Promise<void> {
  if (await readModels.waitForEvent('records', position, patience(caller, CATCH_UP_MS), caller.tenant)) return;
  throw new TryAgainError(reason);
}

/** Until they show all that was written to the table before, by whatever process. @throws TryAgainError */
export async function untilTableIsShown(
  commands: Pick<Commands, 'eventStore' | 'readModels'>,
  caller: Caller,
  table: TableRef['table'],
): Promise<void> {
  const { position = 0 } = (await commands.eventStore.lastAppend(tableStream(caller.tenant, table))) ?? {};
  await untilShown(commands, caller, position, notCaughtUp(table));
}

export const notCaughtUp = (table: TableRef['table']): string => `The read model of ${table} has not caught up yet.`;
