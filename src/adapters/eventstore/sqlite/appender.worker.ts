/**
 * The appender thread: owns the writing connection. While one group is being committed the next appends queue up, and
 * the next transaction takes them all.
 */
import { BroadcastChannel, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { EventLogDamagedError, type Position, type Revision } from '../../../ports/eventStore.js';
import { isDamage } from '../../damagedFiles.js';
import { codeOf } from '../../openSqlite.js';
import { isAt } from '../everyStore.js';
import {
  type AppendAnswer,
  type AppenderMessage,
  type AppenderSettings,
  type AppendRequest,
  headsOf,
} from './appender.js';
import { type EncodedEvent, uuidBytes } from './encoding.js';
import { openLog, writeVersion } from './logFile.js';

/** Characters of data at which a group is closed, so that its first request need not wait too long. */
const GROUP_SIZE = 4_000_000;

if (parentPort === null) throw new Error('The appender runs as a worker thread only.');
const port = parentPort;
const settings: AppenderSettings = workerData;
const db = openLog(settings.file, settings.durability, settings.busyTimeoutMs);
const heads = new BroadcastChannel(headsOf(settings.file));
heads.unref();
/** Rows of a small table, which never change once they are committed. */
const typeIds = new Map<string, number>();

const findStream = db.prepare<[string], number>('SELECT stream_id FROM streams WHERE name = ?').pluck();
const insertStream = db.prepare<[string]>('INSERT INTO streams (name) VALUES (?)');
const findLast = db.prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream_id = ?').pluck();
const findEvent = db.prepare<[number, Buffer], { revision: number; position: number }>(
  'SELECT revision, position FROM events WHERE stream_id = ? AND event_id = ?',
);
const insertEvent = db.prepare<[number, number, number, number, Buffer, string, string]>(
  `INSERT INTO events (stream_id, category_id, revision, following, type_id, event_id, metadata, data)
   VALUES (?, 0, ?, ?, ?, ?, ?, ?)`,
);
const insertType = db.prepare<[string, number]>(
  'INSERT OR IGNORE INTO event_types (type, schema_version) VALUES (?, ?)',
);
const findType = db
  .prepare<[string, number], number>('SELECT type_id FROM event_types WHERE type = ? AND schema_version = ?')
  .pluck();
const findHead = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck();

port.on('message', (first: AppenderMessage) => {
  const group: AppendRequest[] = [];
  let size = 0;
  let message: AppenderMessage | undefined = first;
  while (message !== undefined && message !== 'close') {
    group.push(message);
    size += message.events.reduce((sum, { data }) => sum + data.length, 0);
    message = size < GROUP_SIZE ? receiveMessageOnPort(port)?.message : undefined;
  }
  if (group.length > 0) {
    const answers = commit(group);
    port.postMessage(answers);
    // Answers first: waking each thread that follows the log takes longer.
    const positions = answers.map((answer): Position => (answer.kind === 'stored' ? answer.position : 0));
    heads.postMessage(Math.max(...positions));
  }
  if (message === 'close') close();
});

/** Appends a group in one transaction, with one fsync. If it fails, nothing of the group is stored. */
function commit(group: readonly AppendRequest[]): readonly AppendAnswer[] {
  try {
    return db.transaction(() => group.map(append)).immediate();
  } catch (error) {
    typeIds.clear();
    const reason = isDamage(error) ? new EventLogDamagedError(settings.file, String(error)).message : String(error);
    const failed = { kind: 'failed', reason, mayBeStored: isInputOutput(error) } as const;
    return group.map(({ ticket }) => ({ ticket, ...failed }));
  }
}

/** After a crash, the file may hold data that could not be synchronised. */
const isInputOutput = (error: unknown): boolean => codeOf(error).startsWith('SQLITE_IOERR');

/**
 * A conflict fails only its own append, since each is checked before it writes anything. The check reads inside the
 * immediate transaction, because other processes may append to the same file.
 */
function append({ ticket, stream, events, expectedRevision }: AppendRequest): AppendAnswer {
  const streamId = findStream.get(stream);
  const last = streamId === undefined ? -1 : (findLast.get(streamId) ?? -1);
  const conflict: AppendAnswer = { ticket, kind: 'conflict', actual: last === -1 ? 'no-stream' : last };
  if (streamId !== undefined) {
    const stored = events.flatMap(({ id }) => findEvent.get(streamId, uuidBytes(id)) ?? []);
    const before = stored.at(-1);
    if (before !== undefined) return stored.length === events.length ? { ticket, kind: 'stored', ...before } : conflict;
  }
  if (!isAt(expectedRevision, last)) return conflict;
  if (events.length === 0) {
    // The request of `ping`: checks whether the file can be written.
    writeVersion(db);
    return { ticket, kind: 'stored', revision: last, position: findHead.get() ?? 0 };
  }
  const position = insert(streamId ?? Number(insertStream.run(stream).lastInsertRowid), last + 1, events);
  return { ticket, kind: 'stored', revision: last + events.length, position };
}

/** @returns the position of the last one */
function insert(streamId: number, firstRevision: Revision, events: readonly EncodedEvent[]): Position {
  let position = 0;
  for (const [index, { id, type, schemaVersion, metadata, data }] of events.entries()) {
    const [revision, following] = [firstRevision + index, events.length - 1 - index];
    const typeId = typeIdOf(type, schemaVersion);
    const { lastInsertRowid } = insertEvent.run(streamId, revision, following, typeId, uuidBytes(id), metadata, data);
    position = Number(lastInsertRowid);
  }
  return position;
}

function typeIdOf(type: string, schemaVersion: number): number {
  const key = `${schemaVersion} ${type}`;
  const known = typeIds.get(key);
  if (known !== undefined) return known;
  insertType.run(type, schemaVersion);
  const id = findType.get(type, schemaVersion);
  if (id === undefined) throw new Error(`${key} was inserted and is not there.`);
  typeIds.set(key, id);
  return id;
}

/** Truncates the WAL (an SQLite checkpoint) unless a reader is in the way; then the last connection to close does. */
function close(): void {
  db.pragma('busy_timeout = 0');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  heads.close();
  port.close();
}
