/**
 * The appender thread: owns the writing connection. While one group is being committed the next appends queue up, and
 * the next transaction takes them all.
 */
import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { EventLogDamagedError, type Revision } from '../../../ports/eventStore.js';
import { isDamage } from '../../damagedFiles.js';
import { codeOf } from '../../openSqlite.js';
import { isAt } from '../everyStore.js';
import type { AppendAnswer, AppenderMessage, AppenderSettings, AppendRequest } from './appender.js';
import { CommitAnnouncer, MAX_NEWS_SIZE } from './commitNews.js';
import { type EncodedEvent, type EventRow, uuidBytes } from './encoding.js';
import { openLog, writeVersion } from './logFile.js';

/** Characters of data at which a group is closed, so that its first request need not wait too long. */
const GROUP_SIZE = 4_000_000;

if (parentPort === null) throw new Error('The appender runs as a worker thread only.');
const port = parentPort;
const settings: AppenderSettings = workerData;
const db = openLog(settings.file, settings.durability, settings.busyTimeoutMs);
const readers = new CommitAnnouncer(settings.file);
/** The events of the current group. */
let inserted: EventRow[] = [];
/** Rows of small tables, which never change once they are committed. */
const categoryIds = new Map<string, number>();
const typeIds = new Map<string, number>();

const findStream = db.prepare<[string], number>('SELECT stream_id FROM streams WHERE name = ?').pluck();
const insertStream = db.prepare<[string]>('INSERT INTO streams (name) VALUES (?)');
const findHead = db.prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream_id = ?').pluck();
const findEvent = db.prepare<[number, Buffer], { revision: number; position: number }>(
  'SELECT revision, position FROM events WHERE stream_id = ? AND event_id = ?',
);
const insertEvent = db.prepare<[number, number, number, number, number, Buffer, string, string]>(
  `INSERT INTO events (stream_id, category_id, revision, following, type_id, event_id, metadata, data)
   VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
);
const insertCategory = db.prepare<[string]>('INSERT OR IGNORE INTO categories (name) VALUES (?)');
const findCategory = db.prepare<[string], number>('SELECT category_id FROM categories WHERE name = ?').pluck();
const insertType = db.prepare<[string, number]>(
  'INSERT OR IGNORE INTO event_types (type, schema_version) VALUES (?, ?)',
);
const findType = db
  .prepare<[string, number], number>('SELECT type_id FROM event_types WHERE type = ? AND schema_version = ?')
  .pluck();
const lastPosition = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck();

port.on('message', (first: AppenderMessage) => {
  const group: AppendRequest[] = [];
  let size = 0;
  let message: AppenderMessage | undefined = first;
  while (message !== undefined && message !== 'close') {
    group.push(message);
    size += message.size;
    message = size < GROUP_SIZE ? nextInQueue() : undefined;
  }
  if (group.length > 0) {
    port.postMessage(commit(group));
    // Answers first: waking each thread that follows the log takes longer.
    announce(group);
  }
  if (message === 'close') close();
});

function nextInQueue(): AppenderMessage | undefined {
  return receiveMessageOnPort(port)?.message;
}

/** Appends a group in one transaction, with one fsync. If it fails, nothing of the group is stored. */
function commit(group: readonly AppendRequest[]): readonly AppendAnswer[] {
  try {
    inserted = [];
    return db.transaction(() => group.map(append)).immediate();
  } catch (error) {
    inserted = [];
    categoryIds.clear();
    typeIds.clear();
    const reason = isDamage(error) ? new EventLogDamagedError(settings.file, String(error)).message : String(error);
    const failed = { kind: 'failed', reason, mayBeStored: isInputOutput(error) } as const;
    return group.map(({ ticket }) => ({ ticket, ...failed }));
  }
}

function announce(group: readonly AppendRequest[]): void {
  const [first, last] = [inserted[0], inserted.at(-1)];
  if (first === undefined || last === undefined) return;
  const isSmall = group.reduce((sum, { size }) => sum + size, 0) <= MAX_NEWS_SIZE;
  readers.announce({ after: first.position - 1, head: last.position, rows: isSmall ? inserted : [] });
}

/** After a crash, the file may hold data that could not be synchronised. */
const isInputOutput = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_IOERR');

/**
 * A conflict fails only its own append, since each is checked before it writes anything. The check reads inside the
 * immediate transaction, because other processes may append to the same file.
 */
function append({ ticket, stream, events, expectedRevision }: AppendRequest): AppendAnswer {
  const streamId = findStream.get(stream);
  const head = streamId === undefined ? -1 : (findHead.get(streamId) ?? -1);
  const conflict: AppendAnswer = { ticket, kind: 'conflict', actual: head === -1 ? 'no-stream' : head };
  if (streamId !== undefined) {
    const stored = events.flatMap(({ id }) => findEvent.get(streamId, uuidBytes(id)) ?? []);
    const last = stored.at(-1);
    if (last !== undefined) return stored.length === events.length ? { ticket, kind: 'stored', ...last } : conflict;
  }
  if (!isAt(expectedRevision, head)) return conflict;
  if (events.length === 0) {
    // The request of `ping`: checks whether the file can be written.
    writeVersion(db);
    return { ticket, kind: 'stored', revision: head, position: lastPosition.get() ?? 0 };
  }
  const id = streamId ?? Number(insertStream.run(stream).lastInsertRowid);
  const position = insert(id, stream, head + 1, events);
  return { ticket, kind: 'stored', revision: head + events.length, position };
}

function insert(streamId: number, stream: string, firstRevision: Revision, events: readonly EncodedEvent[]): number {
  const category = categoryOf(stream);
  const categoryId = idOf(categoryIds, category, () => {
    insertCategory.run(category);
    return findCategory.get(category);
  });
  let position = 0;
  for (const [index, { id, type, schemaVersion, metadata, data }] of events.entries()) {
    const typeId = idOf(typeIds, `${schemaVersion} ${type}`, () => {
      insertType.run(type, schemaVersion);
      return findType.get(type, schemaVersion);
    });
    const [revision, following] = [firstRevision + index, events.length - 1 - index];
    const row = [streamId, categoryId, revision, following, typeId, uuidBytes(id), metadata, data] as const;
    position = Number(insertEvent.run(...row).lastInsertRowid);
    const hex = id.replaceAll('-', '');
    inserted.push({
      position,
      revision,
      following,
      id: hex,
      stream,
      type,
      schema_version: schemaVersion,
      metadata,
      data,
    });
  }
  return position;
}

/** The category of a stream: its name up to and including the first `-`; the whole name if there is none. */
function categoryOf(stream: string): string {
  const dash = stream.indexOf('-');
  return dash === -1 ? stream : stream.slice(0, dash + 1);
}

function idOf(known: Map<string, number>, key: string, find: () => number | undefined): number {
  const id = known.get(key) ?? find();
  if (id === undefined) throw new Error(`${key} was inserted and is not there.`);
  known.set(key, id);
  return id;
}

/** Truncates the WAL (an SQLite checkpoint) unless a reader is in the way; then the last connection to close does. */
function close(): void {
  db.pragma('busy_timeout = 0');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  readers.close();
  port.close();
}
