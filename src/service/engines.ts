/**
 * Opens the engine behind each port: one setting each, embedded if unset. Drivers of production engines are loaded only
 * when used, because each thread would hold them in memory.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { openSqliteBroker } from '../adapters/broker/sqlite/broker.js';
import { withCurrentEvents } from '../adapters/eventstore/everyStore.js';
import { refuseDamagedLog } from '../adapters/eventstore/sqlite/logFile.js';
import { openSqliteEventStore } from '../adapters/eventstore/sqlite/store.js';
import { damageOf, lockFile, removeDatabase } from '../adapters/openSqlite.js';
import { openRowReads as openSqliteRowReads } from '../adapters/rows/sqlite/reads.js';
import {
  keptCheckpoint as keptInSqlite,
  openRowWriter as openSqliteRowWriter,
} from '../adapters/rows/sqlite/writer.js';
import type { Config } from '../config.js';
import { eventTypes } from '../domain/eventTypes.js';
import { EventLogDamagedError, type EventStore } from '../ports/eventStore.js';
import { LogReplacedError } from '../ports/logAnchor.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import type { Checkpoint, ParkedTenant, RowReads, RowWriter } from '../ports/rowStore.js';
import { Directory } from '../projections/directory/directory.js';
import { StoredDirectory } from '../projections/directory/storedDirectory.js';
import { sleep } from '../supervision/waiting.js';
import { DIRECTORY_FILE, ROWS } from './dataDirectory.js';

/** @throws UnreadableEventError when the log holds events that this version cannot read */
export async function openEventStore(config: Config): Promise<EventStore> {
  const store = await openStoredLog(config);
  try {
    return await withCurrentEvents(store, eventTypes);
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The log with events as stored, without upcasting. */
export async function openStoredLog({
  DATA_DIR,
  DURABILITY: durability,
  EVENTSTORE_URL: url,
}: Pick<Config, 'DATA_DIR' | 'DURABILITY' | 'EVENTSTORE_URL'>): Promise<EventStore> {
  if (url === undefined) return openSqliteEventStore({ file: join(DATA_DIR, 'events.db'), durability });
  const { openEventStoreDb } = await import('../adapters/eventstore/eventstoredb/store.js');
  return openEventStoreDb({ url });
}

/** The directory between starts. */
export const storedDirectory = ({ DATA_DIR }: Config, onError: (error: unknown) => void = () => undefined) =>
  new StoredDirectory(join(DATA_DIR, DIRECTORY_FILE), onError);

const LOG_REPLACED = 'the event log was put back to an older copy, or is another one; the service starts again on it';

/**
 * Starts the directory of tenants, and logs its interruptions.
 * @param onReplaced called if the log is not the one from before. Every process has a directory, so this notices first
 * @throws what the event store throws
 */
export function openDirectory(
  config: Config,
  eventStore: EventStore,
  log: Logger,
  onReplaced: () => void,
): Promise<Directory> {
  let lastMessage = '';
  const onInterruption = (error: unknown): void => {
    const message = error instanceof Error ? error.message : '';
    // Met at each retry: until the process begins once more, or a person restores a backup.
    const isKnown = error instanceof EventLogDamagedError || error instanceof LogReplacedError;
    if (isKnown && message === lastMessage) return;
    lastMessage = message;
    if (error instanceof LogReplacedError) {
      log.error({ places: error.places }, LOG_REPLACED);
      onReplaced();
    } else log.error({ err: error }, 'the directory of tenants is interrupted, and tries again');
  };
  const stored = storedDirectory(config, (error) =>
    log.warn({ err: error }, 'the directory of tenants cannot be read or stored; a start takes longer'),
  );
  const onParked = (parked: ParkedTenant) =>
    log.error(parked, 'an event of a tenant cannot be applied: the tenant is not served');
  return Directory.start(eventStore, onInterruption, onParked, stored);
}

/**
 * Checks the embedded engines' files before they are opened. A damaged queue is derived from the log, so it is removed, to
 * be filled again. @throws EventLogDamagedError
 */
export function removeDamaged(config: Config, hasJobs: boolean, log: Logger): void {
  const { DATA_DIR, EVENTSTORE_URL, RABBITMQ_URL } = config;
  if (EVENTSTORE_URL === undefined) refuseDamagedLog(join(DATA_DIR, 'events.db'));
  const file = join(DATA_DIR, 'broker.db');
  if (!hasJobs || RABBITMQ_URL !== undefined || !existsSync(file)) return;
  // Another process would go on with the jobs in a file that is removed.
  const release = lockFile(file);
  if (release === undefined) return;
  release();
  const damage = damageOf(file);
  if (damage === undefined) return;
  removeDatabase(file);
  log.error({ file, damage }, 'a damaged file was removed: a new one is filled from the event log');
}

/** Threads that answer lists and counts from embedded rows; one more answers what is short. */
export const READER_THREADS = 2;

/** The server of the rows need not be reachable. */
export async function openRowReads(config: Config, readers = READER_THREADS): Promise<RowReads> {
  const { MONGODB_URL: url } = config;
  if (url === undefined) return openSqliteRowReads({ directory: join(config.DATA_DIR, ROWS), readers });
  const { openMongoRowReads } = await import('../adapters/rows/mongodb/reads.js');
  return openMongoRowReads({ url });
}

/** How far the log was read for all tenants, as writers keep it, which may be open elsewhere. */
export async function keptCheckpoint(config: Config): Promise<Checkpoint | undefined> {
  const { MONGODB_URL: url } = config;
  if (url === undefined) return keptInSqlite(join(config.DATA_DIR, ROWS));
  return (await import('../adapters/rows/mongodb/reads.js')).keptCheckpoint(url);
}

/** Follows the log for the tenants that are this process's own until the signal aborts. */
type Follow = (signal: AbortSignal, isOwn: (tenant: string) => boolean) => Promise<void>;

type OpenRowWriter = {
  readonly writer: RowWriter;
  /** Calls `follow` with the tenants that this process has, and again whenever they are others. */
  readonly share: (signal: AbortSignal, follow: Follow) => Promise<void>;
  readonly close: () => Promise<void>;
};

/** Before tenants that another process has begun to write are followed again. */
const FOLLOW_RETRY_MS = 500;

/** @param owner names the process, where several share the tenants */
export async function openRowWriter(config: Config, owner: string): Promise<OpenRowWriter> {
  const { MONGODB_URL: url } = config;
  if (url === undefined) {
    const writer = openSqliteRowWriter({ directory: join(config.DATA_DIR, ROWS) });
    return { writer, share: (signal, follow) => follow(signal, () => true), close: () => writer.close() };
  }
  const { openMongoRowWriter } = await import('../adapters/rows/mongodb/writer.js');
  const { Shares, OtherWriterError, shareOf } = await import('../adapters/rows/mongodb/shares.js');
  let changed = new AbortController();
  // Only what is followed: a checkpoint says nothing of tenants that have just come to this process.
  let followed: readonly number[] = [];
  const onBeat = (): void => {
    if (shares.held().join() !== followed.join()) changed.abort();
  };
  const shares = new Shares({ url, owner, onBeat });
  const writer = openMongoRowWriter({ url, held: () => followed });
  return {
    writer,
    async share(signal, follow) {
      await shares.start();
      while (!signal.aborted) {
        changed = new AbortController();
        followed = shares.held();
        const own = new Set(followed);
        const isOwn = (tenant: string): boolean => own.has(shareOf(tenant));
        try {
          await follow(AbortSignal.any([signal, changed.signal]), isOwn);
        } catch (error) {
          if (!(error instanceof OtherWriterError)) throw error;
          // Its share is known by then.
          await sleep(FOLLOW_RETRY_MS, signal);
        }
      }
    },
    async close() {
      await writer.close();
      await shares.close();
    },
  };
}

/**
 * @param onTrouble called when the connection is lost; the adapter reconnects by itself, and connects later if the
 *   broker is away at first
 */
export async function openBroker(config: Config, onTrouble: (error: Error) => void): Promise<MessageBroker> {
  const url = config.RABBITMQ_URL;
  if (url === undefined) return openSqliteBroker({ file: join(config.DATA_DIR, 'broker.db') });
  const { openRabbitMqBroker } = await import('../adapters/broker/rabbitmq/broker.js');
  return openRabbitMqBroker({ url, onTrouble });
}
