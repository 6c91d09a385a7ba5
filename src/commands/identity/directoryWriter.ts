/** Changes of a tenant's directory streams: few events, so each decision folds the whole stream. */

import { setTimeout as wait } from 'node:timers/promises';
import { evolveTenant, type Tenant } from '../../domain/identity/directory.js';
import type { DirectoryEvent } from '../../domain/identity/events.js';
import { tenantStream } from '../../domain/streams.js';
import { type Position, WrongExpectedRevisionError } from '../../ports/eventStore.js';
import {
  type Caller,
  type Commands,
  lastRevision,
  lastTime,
  MAX_ATTEMPTS,
  notBefore,
  TryAgainError,
  toAppend,
} from '../context.js';

/** What the directory commands need; the CLI has no read models. */
export type DirectoryCommands = Pick<Commands, 'eventStore' | 'now' | 'newId' | 'directory'>;

/**
 * Decides on the tenant as this one stream (beside the tenant's own) tells it, and appends.
 * The caller sees the change when it returns, unless the log was cut off just then: the write stands all the same.
 * @param decide pure; throws to refuse; undefined where the tenant does not exist
 */
export async function writeDirectory(
  commands: DirectoryCommands,
  caller: Caller,
  stream: string,
  decide: (tenant: Tenant | undefined) => readonly DirectoryEvent[],
): Promise<Position> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const ofTenant =
      stream === tenantStream(caller.tenant) ? [] : await commands.eventStore.readStream(tenantStream(caller.tenant));
    const recorded = await commands.eventStore.readStream(stream);
    const tenant = [...ofTenant, ...recorded].reduce<Tenant | undefined>(
      (state, event) =>
        evolveTenant(state, { type: event.type, data: event.data } as DirectoryEvent, event.metadata.occurredAt),
      undefined,
    );
    const events = decide(tenant);
    if (events.length === 0) return 0;
    const at = notBefore(commands.now(), lastTime(recorded));
    const expected = recorded.length === 0 ? 'no-stream' : lastRevision(recorded);
    try {
      const { position } = await commands.eventStore.append(stream, toAppend(commands, caller, at, events), expected);
      await seen(commands, position);
      return position;
    } catch (error) {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
    }
  }
  throw new TryAgainError(`The settings of ${caller.tenant} are being written by many at once.`);
}

const SEEN_WITHIN_MS = 5_000;

async function seen(commands: DirectoryCommands, position: Position): Promise<void> {
  const stop = new AbortController();
  const tooLong = wait(SEEN_WITHIN_MS, undefined, { signal: stop.signal, ref: false }).catch(() => undefined);
  await Promise.race([commands.directory.waitFor(position), tooLong]);
  stop.abort();
}
