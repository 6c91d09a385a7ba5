/** Notes sign-ins, and what was refused to people, in the tenant's stream `access-<tenant>`. */
import type { AccessEvent } from '../../domain/identity/events.js';
import { accessStream } from '../../domain/streams.js';
import type { Position } from '../../ports/eventStore.js';
import type { Caller } from '../context.js';
import { eventAt } from '../streamPages.js';
import { type Loaded, type LogAccess, NO_STREAM, writeStream } from '../writeStream.js';

/** Appends the events. @throws what the log throws */
export async function noteAccess(log: LogAccess, caller: Caller, events: readonly AccessEvent[]): Promise<Position> {
  const stream = accessStream(caller.tenant);
  const load = () => endOf(log.eventStore, stream);
  const written = await writeStream(log, caller, { stream, name: 'The list of sign-ins', load, decide: () => events });
  return written.position;
}

/** Nothing is decided on what the stream has. */
async function endOf(eventStore: LogAccess['eventStore'], stream: string): Promise<Loaded<undefined>> {
  const { revision } = (await eventStore.lastAppend(stream)) ?? NO_STREAM;
  const last = await eventAt(eventStore, stream, revision);
  return { state: undefined, revision, lastEventAt: last?.metadata.occurredAt ?? NO_STREAM.lastEventAt };
}
