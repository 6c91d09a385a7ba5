import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import { uuidText } from '../../../domain/assetTypes/fieldTypes.js';
import {
  EventLogDamagedError,
  type EventSlice,
  type EventStore,
  EventStoreUnavailableError,
  type EventType,
  MAX_EVENT_BYTES,
  type Position,
  type ReadSlice,
  type RecordedEvent,
  type SliceRange,
} from '../../../ports/eventStore.js';
import { nextTurn, WakeUp } from '../../../supervision/waiting.js';
import { codeOf, type Database, isDamage } from '../../openSqlite.js';
import { DEFAULT_SLICE_COUNT, eventStoreOf, isWanted } from '../everyStore.js';
import { headsOf, openAppender } from './appender.js';
import { decodeEvent, type EventRow } from './encoding.js';
import { type LogFile, openLog } from './logFile.js';

/** How often subscriptions look for other processes' appends, in milliseconds. */
const POLL_MS = 25;
/** Characters of data that are read for a slice, with the append that reaches them: so no step holds a thread for long. */
const SLICE_SIZE = 4_000_000;
/** Events that a slice passes over at most (a few milliseconds), then others run. */
const SCAN_COUNT = 4_000;

/**
 * Opens the embedded event store on a file, which several processes and threads may share. Reads run on the caller's
 * thread, appends on a thread of their own.
 * @throws UnknownFileVersionError if a newer release wrote the file
 * @throws EventStoreUnavailableError if the file cannot be opened
 */
export async function openSqliteEventStore({
  file,
  durability = 'full',
}: Pick<LogFile, 'file'> & Partial<LogFile>): Promise<EventStore> {
  const db = available(file, () => openLog({ file, durability }));
  const path = realpathSync(file);
  const log = statements(db);
  const appender = openAppender({ file: path, durability });
  const closing = new AbortController();
  const read = <T>(reading: () => T): T => {
    if (!db.open) throw new EventStoreUnavailableError('The event store is closed.');
    return available(file, reading);
  };
  const heads = headsIn(path, () => read(() => headOf(log)));
  return eventStoreOf({
    append: appender.append,
    readSlice: async (stream, range) => read(() => streamSlice(log, stream, range)),
    readBackwards: async (maxCount, before = Number.MAX_SAFE_INTEGER) =>
      read(() => {
        const { events, last } = decoded(log.before.iterate(before), maxCount);
        return { events, next: last?.position };
      }),
    async *subscribe(options) {
      const { after, maxCount = DEFAULT_SLICE_COUNT } = options;
      const signal = AbortSignal.any([options.signal, closing.signal]);
      if (signal.aborted) return;
      const wakeUp = new WakeUp();
      // Listens before the first read, so that no append is missed between reading and waiting.
      heads.waiting.add(wakeUp);
      try {
        for (let [position, isFirst] = [after, true]; !signal.aborted; ) {
          const slice = read(() => logSlice(log, position, isWanted(options), maxCount));
          if (isFirst || slice.position > position) {
            [position, isFirst] = [slice.position, false];
            yield slice;
            await nextTurn();
            // Otherwise there is more to read already.
            if (!slice.caughtUp || position < heads.last) continue;
          }
          await wakeUp.wait(undefined, signal);
        }
      } finally {
        heads.waiting.delete(wakeUp);
      }
    },
    head: async () => heads.read(),
    // Here every position up to the head has an event.
    holds: async ({ position, eventId }) => {
      const id = read(() => idAt(log, position));
      return position === 0 || (id !== undefined && (eventId === undefined || id === eventId));
    },
    /** After a failed append, as on a full disk, tests whether another one works. */
    async ping() {
      heads.read();
      if (appender.isFailing()) await appender.append('', [], 'any');
    },
    storedEventTypes: async () => read(() => log.types.all()),
    async close() {
      closing.abort();
      heads.close();
      await appender.close();
      // The last connection to close empties and removes the write-ahead log.
      db.close();
    },
  });
}

/**
 * Wakes subscriptions: threads of this process announce what they commit, other processes' commits are looked for.
 * @param read reads the head of the log
 */
function headsIn(file: string, read: () => Position) {
  const waiting = new Set<WakeUp>();
  const announcements = new BroadcastChannel(headsOf(file));
  const wake = (): void => {
    for (const wakeUp of waiting) wakeUp.wake();
  };
  const announced = (head: Position): void => {
    if (head <= heads.last) return;
    heads.last = head;
    wake();
  };
  const heads = {
    waiting,
    /** The last known head. A waiting subscription has read up to it, or has been woken. */
    last: 0,
    /** The head now. Also wakes waiting subscriptions. @throws what reading throws */
    read(): Position {
      const head = read();
      announced(head);
      return head;
    },
    close(): void {
      announcements.close();
      clearInterval(polling);
    },
  };
  announcements.onmessage = (message) => announced(Number(Object(message).data));
  announcements.unref();
  const polling = setInterval(() => {
    try {
      if (waiting.size > 0) heads.read();
    } catch {
      // A subscription that is woken reads the log, and reports why it cannot be read.
      wake();
    }
  }, POLL_MS).unref();
  return heads;
}

/** Converts SQLite's refusals (busy, disk, damage) to the port's errors. Programming errors stay as they are. */
function available<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    if (isDamage(error)) throw new EventLogDamagedError(file, (error as Error).message, { cause: error });
    const code = codeOf(error);
    if (code === '') throw error;
    throw new EventStoreUnavailableError(`The event log cannot be read (${code}): ${error}`, { cause: error });
  }
}

/** CROSS JOIN makes SQLite keep the order of the log; `events` gives the rows, the other tables only names. */
const EVENTS = `
  SELECT e.position, e.revision, e.following, lower(hex(e.event_id)) AS id, s.name AS stream, t.type, t.schema_version,
    e.metadata, e.data
  FROM events e CROSS JOIN streams s USING (stream_id) CROSS JOIN event_types t USING (type_id)`;

const OF_STREAM = `${EVENTS}
  WHERE e.stream_id = (SELECT stream_id FROM streams WHERE name = ?) AND e.revision BETWEEN ? AND ?`;

const statements = (db: Database) => ({
  head: db.prepare<[], number | null>('SELECT max(position) FROM events').pluck(),
  idAt: db.prepare<[number], string>('SELECT lower(hex(event_id)) FROM events WHERE position = ?').pluck(),
  types: db.prepare<[], EventType>('SELECT type, schema_version AS schemaVersion FROM event_types'),
  after: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position > ? ORDER BY e.position`),
  before: db.prepare<[number], EventRow>(`${EVENTS} WHERE e.position < ? ORDER BY e.position DESC`),
  ofStream: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision`),
  ofStreamBackwards: db.prepare<[string, number, number], EventRow>(`${OF_STREAM} ORDER BY e.revision DESC`),
});

type Log = ReturnType<typeof statements>;

const headOf = (log: Log): Position => log.head.get() ?? 0;

function idAt(log: Log, position: Position): string | undefined {
  const hex = log.idAt.get(position);
  return hex === undefined ? undefined : uuidText(hex);
}

/** The next events after a position, of the streams that are wanted. */
function logSlice(log: Log, after: Position, isWanted: (stream: string) => boolean, maxCount: number): EventSlice {
  const events: RecordedEvent[] = [];
  let [size, passed, isCut] = [0, 0, false];
  let last: EventRow | undefined;
  for (const row of log.after.iterate(after)) {
    if (isWanted(row.stream)) events.push(decodeEvent(row));
    size += row.data.length;
    passed += 1;
    last = row;
    // An append is never cut.
    isCut = row.following === 0 && (events.length >= maxCount || size >= SLICE_SIZE || passed >= SCAN_COUNT);
    if (isCut) break;
  }
  const position = last?.position ?? after;
  const eventId = last === undefined ? idAt(log, after) : uuidText(last.id);
  return { events, position, eventId, caughtUp: !isCut || position >= headOf(log) };
}

function streamSlice(log: Log, stream: string, range: SliceRange): ReadSlice {
  const { from, to = Number.MAX_SAFE_INTEGER, maxCount, backwards = false } = range;
  const rows = (backwards ? log.ofStreamBackwards : log.ofStream).iterate(stream, from, to);
  const { events, last } = decoded(rows, maxCount);
  if (backwards) events.reverse();
  const next = last && last.revision + (backwards ? -1 : 1);
  return next === undefined || next < from || next > to ? { events } : { events, next };
}

/** The first events of these rows. `last` is set if a limit ended them. */
function decoded(rows: Iterable<EventRow>, maxCount: number): { events: RecordedEvent[]; last?: EventRow } {
  const events: RecordedEvent[] = [];
  let size = 0;
  for (const row of rows) {
    events.push(decodeEvent(row));
    size += row.data.length + row.metadata.length;
    if (events.length >= maxCount || size >= MAX_EVENT_BYTES) return { events, last: row };
  }
  return { events };
}
