/** The same in every event store: appends are checked, the log has an id, and readers see events as they are now. */
import { randomUUID } from 'node:crypto';
import { currentVersion, type EventTypes, isReadable, UnreadableEventError, upcast } from '../../domain/eventTypes.js';
import { ERASURES_LOOKED_AT_EVERY_MS } from '../../domain/limits.js';
import { LOG_STREAM } from '../../domain/streams.js';
import { erasuresOf } from '../../ports/erasures.js';
import {
  type EventStore,
  type EventToAppend,
  EventTooLargeError,
  type ExpectedRevision,
  MAX_EVENT_BYTES,
  type RecordedEvent,
  type Revision,
  type SubscribeOptions,
  WrongExpectedRevisionError,
} from '../../ports/eventStore.js';

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

/**
 * The data of each event as JSON text.
 * @throws EventTooLargeError if an event has over MAX_EVENT_BYTES of data
 * @throws TypeError if an id is no UUID or occurs twice, or data is no JSON value
 */
export function dataAsJson(stream: string, events: readonly EventToAppend[]): readonly string[] {
  if (new Set(events.map(({ id }) => id.toLowerCase())).size < events.length) {
    throw new TypeError(`Two events of one append to ${stream} have the same id.`);
  }
  return events.map(({ id, type, data }) => {
    if (!UUID.test(id)) throw new TypeError(`Event id ${id} is not a UUID.`);
    const json: string | undefined = JSON.stringify(data);
    if (json === undefined) throw new TypeError(`The data of ${type} is not a JSON value.`);
    const bytes = Buffer.byteLength(json);
    if (bytes > MAX_EVENT_BYTES) throw new EventTooLargeError(type, bytes);
    return json;
  });
}

/** @param last revision of the stream's last event; -1 if the stream does not exist */
export function isAt(expected: ExpectedRevision, last: Revision): boolean {
  return expected === 'any' || last === (expected === 'no-stream' ? -1 : expected);
}

/** Whether a subscription delivers the events of a stream. */
export const isWanted =
  ({ streamPrefixes, accepts = () => true }: SubscribeOptions) =>
  (stream: string): boolean =>
    (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && accepts(stream);

// The id of a log is the id of an event in it, so every copy of the log has the same id.

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

/**
 * An event store whose readers see current versions of events, without what is erased (decision 0060). It looks for new
 * erasures now and then: a subscription would read the news of each commit for the few of a year.
 * @throws UnreadableEventError if the log holds a type or version that this release cannot read; what the store throws
 */
export async function withCurrentEvents(store: EventStore, types: EventTypes): Promise<EventStore> {
  const stored = await store.storedEventTypes();
  const unreadable = stored.filter(({ type, schemaVersion }) => !isReadable(types, type, schemaVersion));
  if (unreadable.length > 0) throw new UnreadableEventError(unreadable);

  const upcasted = (event: RecordedEvent): RecordedEvent => {
    const { schemaVersion } = event.metadata;
    if (schemaVersion === currentVersion(types, event.type)) return event;
    return { ...event, data: upcast(types, event.type, schemaVersion, event.data) };
  };
  const { erasures, readOn } = await erasuresOf({
    readStream: async (...range) => (await store.readStream(...range)).map(upcasted),
  });
  const current = <Slice extends { readonly events: readonly RecordedEvent[] }>(slice: Slice): Slice => {
    const events = slice.events.map(upcasted);
    return { ...slice, events: erasures.count > 0 ? events.map((event) => erasures.redact(event)) : events };
  };
  // The log may be away for a while; its readers report that.
  const looking = setInterval(() => void readOn().catch(() => undefined), ERASURES_LOOKED_AT_EVERY_MS).unref();
  return {
    ...store,
    erasures,
    readStream: async (...range) => current({ events: await store.readStream(...range) }).events,
    readSlice: async (...range) => current(await store.readSlice(...range)),
    readBackwards: async (...range) => current(await store.readBackwards(...range)),
    async *subscribe(options) {
      for await (const slice of store.subscribe(options)) yield current(slice);
    },
    async close() {
      clearInterval(looking);
      await store.close();
    },
  };
}
