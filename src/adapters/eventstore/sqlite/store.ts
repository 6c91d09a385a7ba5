import { realpathSync } from 'node:fs';
import { BroadcastChannel } from 'node:worker_threads';
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
import { Appender, headsOf } from './appender.js';
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
  /** How often subscriptions look for other processes' appends. Default 25 ms. */
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
  readonly #waiting = new Set<WakeUp>();
  readonly #pollMs: number;
  /** The last known head of the log. A waiting subscription has read up to it, or has been woken. */
  #head: Position = 0;
  /** Announces heads to the threads of this process. Set once there was a subscription, as the next. */
  #heads: BroadcastChannel | undefined;
  #polling: NodeJS.Timeout | undefined;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor({
    file,
    durability = 'full',
    appendsSoon,
    busyTimeoutMs = 5_000,
    pollMs = 25,
  }: SqliteEventStoreSettings) {
    this.#db = available(file, () => openLog(file, durability, busyTimeoutMs));
    this.#reader = new LogReader(this.#db);
    this.#appender = new Appender({ file: realpathSync(file), durability, busyTimeoutMs });
    this.#pollMs = pollMs;
    if (appendsSoon === true) this.#appender.start();
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
    const { after, streamPrefixes, accepts = () => true, maxCount = DEFAULT_SLICE_COUNT } = options;
    const isWanted = (stream: string): boolean =>
      (streamPrefixes?.some((prefix) => stream.startsWith(prefix)) ?? true) && accepts(stream);
    const signal = AbortSignal.any([options.signal, this.#closing.signal]);
    const wakeUp = new WakeUp();
    // Listens before the first read, so that no append is missed between reading and waiting.
    this.#listen();
    this.#waiting.add(wakeUp);
    try {
      for (let [position, isFirst] = [after, true]; !signal.aborted; ) {
        const slice = this.#read((reader) => reader.slice(position, isWanted, maxCount, streamPrefixes !== undefined));
        if (isFirst || slice.position > position) {
          [position, isFirst] = [slice.position, false];
          yield slice;
          await nextTurn();
          // Otherwise there is more to read already.
          if (!slice.caughtUp || position < this.#head) continue;
        }
        await wakeUp.wait(undefined, signal);
      }
    } finally {
      this.#waiting.delete(wakeUp);
    }
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
    const head = this.#read((reader) => reader.head());
    this.#announced(head);
    return head;
  }

  readonly positionAt = async (time: string): Promise<Position> => this.#read((reader) => reader.positionAt(time));

  /** After a failed append, as on a full disk, tests whether another one works. */
  async ping(): Promise<void> {
    await this.head();
    if (this.#appender.isFailing) await this.append('', [], 'any');
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
    this.#heads?.close();
    clearInterval(this.#polling);
    await this.#appender.close();
    // The last connection to close empties and removes the write-ahead log.
    this.#db.close();
  }

  /** Threads of this process announce what they commit; other processes' commits are looked for. */
  #listen(): void {
    if (this.#heads !== undefined || this.#closing.signal.aborted) return;
    this.#heads = new BroadcastChannel(headsOf(realpathSync(this.#db.name)));
    this.#heads.onmessage = (message) => this.#announced(Number(Object(message).data));
    this.#heads.unref();
    // A subscription that is woken reads the log, and reports why it cannot be read.
    const look = (): Promise<unknown> => this.head().catch(() => this.#wake());
    this.#polling = setInterval(look, this.#pollMs).unref();
  }

  #announced(head: Position): void {
    if (head <= this.#head) return;
    this.#head = head;
    this.#wake();
  }

  #wake(): void {
    for (const wakeUp of this.#waiting) wakeUp.wake();
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
