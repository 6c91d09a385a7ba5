import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
import {
  DEFAULT_SLICE_COUNT,
  EventLogDamagedError,
  type EventStore,
  EventStoreUnavailableError,
  type Position,
  type RecordedEvent,
  type Revision,
  type StreamSlice,
} from '../../../ports/eventStore.js';
import { nextTurn, WakeUp } from '../../../supervision/waiting.js';
import { isDamage } from '../../damagedFiles.js';
import { codeOf } from '../../openSqlite.js';
import { identityOf, isWanted } from '../everyStore.js';
import { Appender, headsOf } from './appender.js';
import { type Durability, openLog } from './logFile.js';
import { LogReader } from './logReader.js';

/** Events that are read at once when a stream is read as a whole. */
const READ_COUNT = 1_000;
/** How often subscriptions look for other processes' appends, in milliseconds. */
const POLL_MS = 25;

export type SqliteEventStoreSettings = {
  /** Path of the log's file; created if missing. Its directory must exist. */
  readonly file: string;
  /** Default `full`. */
  readonly durability?: Durability;
  /** Starts the appender thread at once, so that the first append need not wait for it. */
  readonly appendsSoon?: boolean;
  /** How long a write waits for another process's write. Default 5,000 ms. */
  readonly busyTimeoutMs?: number;
};

/**
 * Opens the embedded event store on a file, which several processes and threads may share. Reads run on the caller's
 * thread, appends on a thread of their own.
 * @throws UnknownFileVersionError if a newer release wrote the file
 * @throws EventStoreUnavailableError if the file cannot be opened
 */
export async function openSqliteEventStore({
  file,
  durability = 'full',
  appendsSoon = false,
  busyTimeoutMs = 5_000,
}: SqliteEventStoreSettings): Promise<EventStore> {
  const db = available(file, () => openLog(file, durability, busyTimeoutMs));
  const reader = new LogReader(db);
  const appender = new Appender({ file: realpathSync(file), durability, busyTimeoutMs });
  if (appendsSoon) appender.start();
  const closing = new AbortController();
  const read = <T>(reading: (log: LogReader) => T): T => {
    if (!db.open) throw new EventStoreUnavailableError('The event store is closed.');
    return available(file, () => reading(reader));
  };
  const heads = new Heads(realpathSync(file), () => read((log) => log.head()));
  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closing.abort();
    heads.close();
    await appender.close();
    // The last connection to close empties and removes the write-ahead log.
    db.close();
  };

  const store: EventStore = {
    append: (stream, events, expected) => appender.append(stream, events, expected),
    async readStream(stream, fromRevision = 0, to = Number.MAX_SAFE_INTEGER) {
      const events: RecordedEvent[] = [];
      for (let from: Revision | undefined = fromRevision; ; ) {
        const range = { from, to, maxCount: READ_COUNT };
        const slice: StreamSlice = read((log) => log.streamSlice(stream, range));
        events.push(...slice.events);
        from = slice.next;
        if (from === undefined) return events;
        await nextTurn();
      }
    },
    readSlice: async (stream, range) => read((log) => log.streamSlice(stream, range)),
    readBackwards: async (maxCount, before) => read((log) => log.backwards(maxCount, before)),
    lastAppend: async (stream) => read((log) => log.lastAppend(stream)),
    async *subscribe(options) {
      const { after, streamPrefixes, maxCount = DEFAULT_SLICE_COUNT } = options;
      const signal = AbortSignal.any([options.signal, closing.signal]);
      if (signal.aborted) return;
      const wakeUp = new WakeUp();
      // Listens before the first read, so that no append is missed between reading and waiting.
      heads.listen(wakeUp);
      try {
        for (let [position, isFirst] = [after, true]; !signal.aborted; ) {
          const slice = read((log) => log.slice(position, isWanted(options), maxCount, streamPrefixes !== undefined));
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
        heads.leave(wakeUp);
      }
    },
    head: async () => heads.look(),
    positionAt: async (time) => read((log) => log.positionAt(time)),
    identity: () => identityOf(store),
    holds: async (place) => read((log) => log.holds(place)),
    /** After a failed append, as on a full disk, tests whether another one works. */
    async ping() {
      heads.look();
      if (appender.isFailing) await appender.append('', [], 'any');
    },
    storedEventTypes: async () => read((log) => log.storedEventTypes()),
    close() {
      closed ??= close();
      return closed;
    },
  };
  return store;
}

/** Wakes subscriptions: threads of this process announce what they commit, other processes' commits are looked for. */
class Heads {
  /** The last known head of the log. A waiting subscription has read up to it, or has been woken. */
  last: Position = 0;
  readonly #file: string;
  readonly #read: () => Position;
  readonly #waiting = new Set<WakeUp>();
  /** Set once there was a subscription, as the next. */
  #announcements: BroadcastChannel | undefined;
  #polling: NodeJS.Timeout | undefined;

  constructor(file: string, read: () => Position) {
    this.#file = file;
    this.#read = read;
  }

  listen(wakeUp: WakeUp): void {
    this.#waiting.add(wakeUp);
    if (this.#announcements !== undefined) return;
    this.#announcements = new BroadcastChannel(headsOf(this.#file));
    this.#announcements.onmessage = (message) => this.#announced(Number(Object(message).data));
    this.#announcements.unref();
    this.#polling = setInterval(() => {
      try {
        this.look();
      } catch {
        // A subscription that is woken reads the log, and reports why it cannot be read.
        this.#wake();
      }
    }, POLL_MS).unref();
  }

  leave(wakeUp: WakeUp): void {
    this.#waiting.delete(wakeUp);
  }

  /** The head now. Also wakes waiting subscriptions. @throws what reading throws */
  look(): Position {
    const head = this.#read();
    this.#announced(head);
    return head;
  }

  close(): void {
    this.#announcements?.close();
    clearInterval(this.#polling);
  }

  #announced(head: Position): void {
    if (head <= this.last) return;
    this.last = head;
    this.#wake();
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }
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
