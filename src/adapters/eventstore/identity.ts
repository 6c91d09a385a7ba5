/** The id of a log is the id of an event in it, so every copy of the log has the same id. */
import { randomUUID } from 'node:crypto';
import { LOG_STREAM } from '../../domain/streams.js';
import { type EventStore, type EventToAppend, WrongExpectedRevisionError } from '../../ports/eventStore.js';

type Log = Pick<EventStore, 'append' | 'readStream'>;

/** Undefined if the log has no id yet. */
export async function storedIdentity(log: Pick<Log, 'readStream'>): Promise<string | undefined> {
  return (await log.readStream(LOG_STREAM, 0, 0))[0]?.id;
}

/** See `EventStore.identity`. If several processes ask at the same time, one of them assigns the id. */
export async function identityOf(log: Log): Promise<string> {
  const stored = await storedIdentity(log);
  if (stored !== undefined) return stored;
  const created = logCreated();
  try {
    await log.append(LOG_STREAM, [created], 'no-stream');
    return created.id;
  } catch (error) {
    const first = error instanceof WrongExpectedRevisionError ? await storedIdentity(log) : undefined;
    if (first === undefined) throw error;
    return first;
  }
}

function logCreated(): EventToAppend {
  const id = randomUUID();
  const occurredAt = new Date().toISOString().replace('Z', '000Z');
  const actor = { kind: 'system', id: 'event-log' } as const;
  const metadata = { tenant: '', actor, correlationId: id, causationId: id, occurredAt, schemaVersion: 1 };
  return { id, type: 'LogCreated', data: {}, metadata };
}
