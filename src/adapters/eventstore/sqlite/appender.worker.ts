/**
 * The appender thread: owns the connection that writes. While one group is being committed the next
 * appends queue up, and the next transaction takes them all.
 */
import { BroadcastChannel, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { AppenderMessage, AppenderSettings, AppendRequest, GroupAnswer } from './appender.js';
import { LogWriter } from './logWriter.js';
import { openLog } from './schema.js';

/** A group takes requests until it has this many characters, so that the first does not wait for ever. */
const GROUP_SIZE = 4_000_000;

if (parentPort === null) throw new Error('The appender runs as a worker thread only.');
const port = parentPort;
const settings: AppenderSettings = workerData;
const db = openLog(settings.file, settings.durability, settings.busyTimeoutMs);
const writer = new LogWriter(db);
const readers = new BroadcastChannel(settings.channel);

port.on('message', (first: AppenderMessage) => {
  const group: AppendRequest[] = [];
  let size = 0;
  let message: AppenderMessage | undefined = first;
  while (message?.kind === 'append') {
    group.push(message);
    size += message.size;
    message = size < GROUP_SIZE ? nextInQueue() : undefined;
  }
  if (group.length > 0) port.postMessage(commit(group));
  if (message?.kind === 'close') close();
});

function nextInQueue(): AppenderMessage | undefined {
  return receiveMessageOnPort(port)?.message;
}

function commit(group: readonly AppendRequest[]): GroupAnswer {
  try {
    const outcomes = writer.writeGroup(group);
    readers.postMessage(null);
    return {
      kind: 'committed',
      outcomes: group.flatMap(({ ticket }, index) => {
        const outcome = outcomes[index];
        return outcome === undefined ? [] : [{ ticket, outcome }];
      }),
    };
  } catch (error) {
    return { kind: 'failed', tickets: group.map(({ ticket }) => ticket), reason: String(error) };
  }
}

/** Truncates the WAL (SQLite calls it a checkpoint) if no reader is in its way; otherwise the last connection to close does. */
function close(): void {
  db.pragma('busy_timeout = 0');
  db.pragma('wal_checkpoint(TRUNCATE)');
  db.close();
  readers.close();
  port.close();
}
