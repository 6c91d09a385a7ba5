/** The same in every event store: appends are checked, the log has an id, and readers see events as they are now. */
import { randomUUID } from 'node:crypto';
import { type EventTypes, SCHEMA_VERSION, UnreadableEventError } from '../../domain/eventTypes.js';
import { upcast } from '../../domain/order/events.js';
import { LOG_STREAM } from '../../domain/streams.js';
import {
  AppendTooLargeError,
  type EventLog,
  type EventStore,
  type EventToAppend,
  type EventType,
  type ExpectedRevision,
  erasuresOf,
  MAX_EVENT_BYTES,
  type ReadSlice,
  type RecordedEvent,
  type Revision,
  type SubscribeOptions,
  WrongExpectedRevisionError,
} from '../../ports/eventStore.js';
import { nextTurn } from '../../supervision/waiting.js';

export const ERASURES_READ_MS = 500;

/** Events of a subscription's slice, unless it asks for others. */
export const DEFAULT_SLICE_COUNT = 500;
const READ_COUNT = 1_000;

/** The data of each event as JSON text. @throws AppendTooLargeError if an event has over MAX_EVENT_BYTES of it */
export function dataAsJson(events: readonly EventToAppend[]): readonly string[] {
  return events.map(({ type, data }) => {
    const json = JSON.stringify(data);
    const bytes = Buffer.byteLength(json);
    if (bytes > MAX_EVENT_BYTES)
      throw new AppendTooLargeError(
        `${type} has ${bytes} bytes of data; at most ${MAX_EVENT_BYTES} fit into one event.`,
      );
    return json;
  });
}

/** @param last revision of the stream's last event; -1 if the stream does not exist */
export function isAt(expected: ExpectedRevision, last: Revision): boolean {
  return expected === 'any' || last === (expected === 'no-stream' ? -1 : expected);
}

export const isWanted =
  ({ streamPrefixes, accepts = () => true }: SubscribeOptions) =>
  (stream: string): boolean =>
    (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && accepts(stream);

export function eventStoreOf(log: EventLog): EventStore {
  const store: EventStore = {
    ...log,
    async readStream(stream, from = 0, to = Number.MAX_SAFE_INTEGER) {
      const events: RecordedEvent[] = [];
      for (let next: Revision | undefined = from; next !== undefined && next <= to; ) {
        const slice: ReadSlice = await log.readSlice(stream, { from: next, to, maxCount: READ_COUNT });
        events.push(...slice.events);
        next = slice.next;
        // The embedded log reads on this thread.
        if (next !== undefined) await nextTurn();
      }
      return events;
    },
    lastAppend: (stream) => lastAppend(log, stream),
    identity: () => identityOf(store),
  };
  return store;
}

/** See `EventStore.lastAppend`. Steps back over events that readers do not see. */
export async function lastAppend(log: Pick<EventLog, 'readSlice'>, stream: string) {
  const last = { from: 0, maxCount: 1, backwards: true };
  for (let slice = await log.readSlice(stream, last); ; ) {
    const { events, next: to } = slice;
    const [event] = events;
    if (event !== undefined) return { revision: event.revision, position: event.position };
    if (to === undefined) return undefined;
    slice = await log.readSlice(stream, { ...last, to });
  }
}

// The id of a log is the id of an event in it, so every copy of the log has the same id.

export async function storedIdentity(log: EventStore): Promise<string | undefined> {
  return (await log.readStream(LOG_STREAM, 0, 0))[0]?.id;
}

/** If several processes ask at the same time, one of them assigns the id. */
async function identityOf(store: EventStore): Promise<string> {
  for (;;) {
    const stored = await storedIdentity(store);
    if (stored !== undefined) return stored;
    await store.append(LOG_STREAM, [logCreated()], 'no-stream').catch((error: unknown) => {
      if (!(error instanceof WrongExpectedRevisionError)) throw error;
    });
  }
}

function logCreated(): EventToAppend {
  const id = randomUUID();
  const occurredAt = new Date().toISOString().replace('Z', '000Z');
  const actor = { kind: 'system', id: 'event-log' } as const;
  const metadata = { tenant: '', actor, correlationId: id, causationId: id, occurredAt, schemaVersion: 1 };
  return { id, type: 'LogCreated', data: {}, metadata };
}

export function mapped(log: EventLog, change: (event: RecordedEvent) => RecordedEvent): EventStore {
  const changed = <Slice extends ReadSlice>(slice: Slice): Slice => ({ ...slice, events: slice.events.map(change) });
  return eventStoreOf({
    ...log,
    readSlice: async (...range) => changed(await log.readSlice(...range)),
    readBackwards: async (...range) => changed(await log.readBackwards(...range)),
    async *subscribe(options) {
      for await (const slice of log.subscribe(options)) yield changed(slice);
    },
  });
}

/**
 * An event store whose readers see current versions of events, without what is erased (decision 0017). It looks for new
 * erasures now and then: a subscription would read the news of each commit for the few of a year.
 * @throws UnreadableEventError if the log holds a type or version that this release cannot read; what the log throws
 */
export async function withCurrentEvents(log: EventLog, types: EventTypes): Promise<EventStore> {
  const isReadable = ({ type, schemaVersion }: EventType): boolean =>
    Object.hasOwn(types, type) && schemaVersion === SCHEMA_VERSION;
  const unreadable = (await log.storedEventTypes()).filter((each) => !isReadable(each));
  if (unreadable.length > 0) throw new UnreadableEventError(unreadable);

  const { erasures, readOn } = await erasuresOf(eventStoreOf(log));
  // The log may be away for a while; its readers report that.
  const timer = setInterval(() => void readOn().catch(() => undefined), ERASURES_READ_MS).unref();
  // Not every log lists the types of its events.
  const current = mapped(log, (event) => {
    const stored = { type: event.type, schemaVersion: event.metadata.schemaVersion };
    if (!isReadable(stored)) throw new UnreadableEventError([stored]);
    return upcast(erasures.redact(event));
  });
  return {
    ...current,
    erasures,
    async close() {
      clearInterval(timer);
      await log.close();
    },
  };
}
