/**
 * The appender thread: owns the writing connection. While one group is being committed the next appends queue up, and
 * the next transaction takes them all.
 */
import { BroadcastChannel, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import { EventLogDamagedError, type Position } from '../../../ports/eventStore.js';
import { codeOf, isDamage, uuidBytes } from '../../openSqlite.js';
import { isAt } from '../everyStore.js';
import { type AppendAnswer, type AppenderMessage, type AppendRequest, headsOf } from './appender.js';
import { type LogFile, openLog, writeVersion } from './logFile.js';

if (parentPort === null) throw new Error('The appender runs as a worker thread only.');
const port = parentPort;
const settings: LogFile = workerData;
const db = openLog(settings);
const heads = new BroadcastChannel(headsOf(settings.file));
heads.unref();

const findStream = db.prepare<[string], number>('SELECT stream_id FROM streams WHERE name = ?').pluck();
const insertStream = db.prepare<[string]>('INSERT INTO streams (name) VALUES (?)');
const findLast = db.prepare<[number], number | null>('SELECT max(revision) FROM events WHERE stream_id = ?').pluck();
const findEvent = db.prepare<[number, Buffer], { revision: number; position: number }>(
  'SELECT revision, position FROM events WHERE stream_id = ? AND event_id = ?',
);
const insertEvent = db.prepare<[number, number, number, Buffer, string, string, string, number]>(
  `INSERT INTO events (stream_id, category_id, revision, following, event_id, metadata, data, type_id)
   VALUES (?, 0, ?, ?, ?, ?, ?, (SELECT type_id FROM event_types WHERE type = ? AND schema_version = ?))`,
);
const insertType = db.prepare<[string, number]>(
  'INSERT OR IGNORE INTO event_types (type, schema_version) VALUES (?, ?)',
);
const findHead = db.prepare<[], number | null>('SELECT max(position) FROM events').pluck();

port.on('message', (first: AppenderMessage) => {
  const group: AppendRequest[] = [];
  let message: AppenderMessage | undefined = first;
  for (; message !== undefined && message !== 'close'; message = receiveMessageOnPort(port)?.message)
    group.push(message);
  if (group.length > 0) {
    const answers = commit(group);
    port.postMessage(answers);
    // Answers first: waking each thread that follows the log takes longer.
    const positions = answers.map((answer): Position => (answer.kind === 'stored' ? answer.position : 0));
    heads.postMessage(Math.max(...positions));
  }
  if (message !== 'close') return;
  db.close();
  heads.close();
  port.close();
});

/** Appends a group in one transaction, with one fsync. If it fails, nothing of the group is stored. */
function commit(group: readonly AppendRequest[]): readonly AppendAnswer[] {
  try {
    return db.transaction(() => group.map(append)).immediate();
  } catch (error) {
    const reason = isDamage(error) ? new EventLogDamagedError(settings.file, String(error)).message : String(error);
    // After a crash, the file may hold data that could not be synchronised.
    const mayBeStored = codeOf(error).startsWith('SQLITE_IOERR');
    return group.map(() => ({ kind: 'failed', reason, mayBeStored }));
  }
}

/**
 * A conflict fails only its own append, since each is checked before it writes anything. The check reads inside the
 * immediate transaction, because other processes may append to the same file.
 */
function append({ stream, events, expectedRevision }: AppendRequest): AppendAnswer {
  const known = findStream.get(stream);
  const last = known === undefined ? -1 : (findLast.get(known) ?? -1);
  const conflict: AppendAnswer = { kind: 'conflict', actual: last === -1 ? 'no-stream' : last };
  const stored = known === undefined ? [] : events.flatMap(({ id }) => findEvent.get(known, uuidBytes(id)) ?? []);
  const before = stored.at(-1);
  if (before !== undefined) return stored.length === events.length ? { kind: 'stored', ...before } : conflict;
  if (!isAt(expectedRevision, last)) return conflict;
  // The request of `ping`: checks whether the file can be written.
  if (events.length === 0) writeVersion(db);
  const streamId = known ?? (events.length === 0 ? 0 : insertStream.run(stream).lastInsertRowid);
  for (const [index, { id, type, schemaVersion, metadata, data }] of events.entries()) {
    const [revision, following] = [last + 1 + index, events.length - 1 - index];
    insertType.run(type, schemaVersion);
    insertEvent.run(Number(streamId), revision, following, uuidBytes(id), metadata, data, type, schemaVersion);
  }
  return { kind: 'stored', revision: last + events.length, position: findHead.get() ?? 0 };
}
