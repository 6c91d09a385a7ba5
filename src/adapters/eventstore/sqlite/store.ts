import { realpathSync } from 'node:fs';
import {
  type AppendResult,
  type BackwardSlice,
  DEFAULT_SLICE_COUNT,
  EventLogDamagedError,
  type EventPosition,
  type EventSlice,
  type EventStore,
  EventStoreUnavailableError,
  type EventToAppend,
  type ExpectedRevision,
  type Position,
  type RecordedEvent,
  type Revision,
  type SizeSlice,
  type SliceRange,
  type StreamSlice,
  type SubscribeOptions,
} from '../../../ports/eventStore.js';
import { nextTurn, sleep, WakeUp } from '../../../supervision/waiting.js';
import { isDamage } from '../../damagedFiles.js';
import { codeOf, type Database } from '../../openSqlite.js';
import { identityOf } from '../everyStore.js';
import { Appender } from './appender.js';
import { CommitListener, type CommitNews, RecentCommits } from './commitNews.js';
import { type Durability, openLog } from './logFile.js';
import { LogReader } from './logReader.js';

/** How often new events are looked for to tell their sizes, in milliseconds: a look at each commit would slow the commits. */
const SIZES_EVERY_MS = 500;
/** How long older sizes are not read after each slice, in milliseconds. */
const SIZES_REST_MS = 20;
/** Events that are read at once when a stream is read as a whole. */
const READ_COUNT = 1_000;

export type SqliteEventStoreSettings = {
  /** Path of the log's file; created if missing. Its directory must exist. */
  readonly file: string;
  /** Default `full`. */
  readonly durability?: Durability;
  /** Starts the appender thread at once, so that the first append need not wait for it. */
  readonly appendsSoon?: boolean;
  /** How often to look for other processes' appends, for systems that do not report them. Default 10,000 ms. */
  readonly pollMs?: number;
  /** How long a write waits for another process's write. Default 5,000 ms. */
  readonly busyTimeoutMs?: number;
};

/**
 * Opens the embedded event store on a file, which several processes and threads may share. Reads run on the caller's
 * thread, appends on a thread of their own.
 * @throws UnknownFileVersionError if a newer release wrote the file
 * @throws EventStoreUnavailableError if the file cannot be opened
 */
export async function openSqliteEventStore(settings: SqliteEventStoreSettings): Promise<SqliteEventStore> {
  return new SqliteEventStore(settings);
}

export class SqliteEventStore implements EventStore {
  readonly #db: Database;
  readonly #reader: LogReader;
  readonly #appender: Appender;
  readonly #listen: () => CommitListener;
  readonly #waiting = new Set<WakeUp>();
  readonly #recent = new RecentCommits();
  #listener: CommitListener | undefined;
  /** The last known head of the log. A waiting subscription has read up to it, or has been woken. */
  #seen: Position = 0;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(settings: SqliteEventStoreSettings) {
    const { durability = 'full', busyTimeoutMs = 5_000, pollMs = 10_000 } = settings;
    this.#db = available(settings.file, () => openLog(settings.file, durability, busyTimeoutMs));
    const file = realpathSync(settings.file);
    this.#reader = new LogReader(this.#db);
    this.#appender = new Appender({ file, durability, busyTimeoutMs });
    if (settings.appendsSoon === true) this.#appender.start();
    this.#listen = () =>
      new CommitListener(
        file,
        pollMs,
        (news) => this.#onCommit(news),
        () => this.#readHeadOrWake(),
      );
  }

  append(stream: string, events: readonly EventToAppend[], expectedRevision: ExpectedRevision): Promise<AppendResult> {
    return this.#appender.append(stream, events, expectedRevision);
  }

  async readStream(
    stream: string,
    fromRevision: Revision = 0,
    toRevision: Revision = Number.MAX_SAFE_INTEGER,
  ): Promise<readonly RecordedEvent[]> {
    const events: RecordedEvent[] = [];
    for (let from: Revision | undefined = fromRevision; ; ) {
      const slice: StreamSlice = await this.readSlice(stream, { from, to: toRevision, maxCount: READ_COUNT });
      events.push(...slice.events);
      from = slice.next;
      if (from === undefined) return events;
      await nextTurn();
    }
  }

  async readSlice(stream: string, range: SliceRange): Promise<StreamSlice> {
    return this.#read((reader) => reader.streamSlice(stream, range));
  }

  async readBackwards(maxCount: number, before?: Position): Promise<BackwardSlice> {
    return this.#read((reader) => reader.backwards(maxCount, before));
  }

  async lastAppend(stream: string): Promise<AppendResult | undefined> {
    return this.#read((reader) => reader.lastAppend(stream));
  }

  async *subscribe(options: SubscribeOptions): AsyncGenerator<EventSlice, void, void> {
    const { streamPrefixes, accepts = () => true, maxCount = DEFAULT_SLICE_COUNT } = options;
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const wakeUp = new WakeUp();
    const stop = (): void => wakeUp.wake();
    signal.addEventListener('abort', stop);
    // Listens before the first read, so that no append is missed between reading and waiting.
    this.#listener ??= this.#listen();
    this.#waiting.add(wakeUp);
    try {
      let position = options.after;
      let first = true;
      let hasCaughtUp = false;
      while (!signal.aborted) {
        const slice = this.#slice(hasCaughtUp, position, streamPrefixes, maxCount, accepts);
        hasCaughtUp ||= slice.caughtUp;
        if (first || slice.position > position) {
          position = slice.position;
          first = false;
          yield slice;
          await nextTurn();
          // Otherwise there is more to read already.
          if (!slice.caughtUp || position < this.#seen) continue;
        }
        // One listener wakes all: listening in each subscription would take as long as reading the news.
        if (!signal.aborted) await wakeUp.wait(undefined);
      }
    } finally {
      signal.removeEventListener('abort', stop);
      this.#waiting.delete(wakeUp);
    }
  }

  #slice(hasCaughtUp: boolean, ...asked: Parameters<LogReader['slice']>): EventSlice {
    const recent = this.#recent.slice(...asked);
    if (recent === undefined) return this.#read((reader) => reader.slice(...asked));
    // A new subscription may have missed the last commits, so it asks the file. A running one is told of each commit.
    return { ...recent, caughtUp: recent.position >= (hasCaughtUp ? this.#seen : this.#readHead()) };
  }

  async *sizes({ after, signal: ending }: Pick<SubscribeOptions, 'after' | 'signal'>): AsyncGenerator<SizeSlice> {
    const signal = AbortSignal.any([ending, this.#closing.signal]);
    let isFirst = true;
    for (let position = after; !signal.aborted; isFirst = false) {
      const slice = this.#read((reader) => reader.sizes(position));
      if (isFirst || slice.position > position) yield slice;
      position = slice.position;
      await sleep(slice.caughtUp ? SIZES_EVERY_MS : SIZES_REST_MS, signal);
    }
  }

  /** Also wakes waiting subscriptions. */
  async head(): Promise<Position> {
    return this.#readHead();
  }

  readonly positionAt = async (time: string): Promise<Position> => this.#read((reader) => reader.positionAt(time));

  /** After a failed append, as on a full disk, tests whether another one works. */
  async ping(): Promise<void> {
    this.#readHead();
    if (this.#appender.isFailing) await this.append('', [], 'any');
  }

  #readHead(): Position {
    const head = this.#read((reader) => reader.head());
    if (head > this.#seen) this.#wake();
    this.#seen = head;
    return head;
  }

  #onCommit(news: CommitNews): void {
    this.#recent.add(news);
    this.#seen = Math.max(this.#seen, news.head);
    this.#wake();
  }

  #readHeadOrWake(): void {
    try {
      this.#readHead();
    } catch {
      // Subscriptions read the log and report the same failure.
      this.#wake();
    }
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
  }

  identity(): Promise<string> {
    return identityOf(this);
  }

  async holds(place: EventPosition): Promise<boolean> {
    return this.#read((reader) => reader.holds(place));
  }

  async storedEventTypes(): Promise<readonly { readonly type: string; readonly schemaVersion: number }[]> {
    return this.#read((reader) => reader.storedEventTypes());
  }

  close(): Promise<void> {
    this.#closed ??= this.#end();
    return this.#closed;
  }

  async #end(): Promise<void> {
    this.#closing.abort();
    this.#listener?.close();
    await this.#appender.close();
    // The last connection to close empties and removes the write-ahead log.
    this.#db.close();
  }

  #read<T>(read: (reader: LogReader) => T): T {
    if (!this.#db.open) throw new EventStoreUnavailableError('The event store is closed.');
    return available(this.#db.name, () => read(this.#reader));
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
