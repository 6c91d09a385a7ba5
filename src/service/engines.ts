/**
 * Opens the engine behind each port: one setting each, embedded if unset. Drivers of production engines are loaded only
 * when used, because each thread would hold them in memory.
 */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { openSqliteBroker } from '../adapters/broker/sqlite/broker.js';
import { openDirectoryStore } from '../adapters/directory/store.js';
import { withUpcasting } from '../adapters/eventstore/everyStore.js';
import { openSqliteEventStore, type SqliteEventStoreSettings } from '../adapters/eventstore/sqlite/store.js';
import { withoutErased } from '../adapters/eventstore/withoutErased.js';
import { openSqliteReadModels } from '../adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from '../adapters/readmodels/sqlite/write/writer.js';
import type { Config } from '../config.js';
import { TENANTS_VERSION } from '../directory/storedDirectory.js';
import { eventTypes } from '../domain/eventTypes.js';
import type { DirectoryStore } from '../ports/directoryStore.js';
import type { EventStore } from '../ports/eventStore.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import type { Projectors } from '../ports/projectors.js';
import type { ReadModelWriter, RebuildableReadModels } from '../ports/readModelWriter.js';
import type { ReadModels } from '../ports/readSide.js';
import { LANE_RULE, type Lane, lanesOf, ONLY_LANE } from '../projector/lanes.js';

export type EngineConfig = Pick<
  Config,
  | 'DATA_DIR'
  | 'DURABILITY'
  | 'READER_THREADS'
  | 'REQUEST_TIMEOUT_MS'
  | 'EVENTSTORE_URL'
  | 'MONGODB_URL'
  | 'RABBITMQ_URL'
>;

type LogUse = Pick<SqliteEventStoreSettings, 'appendsSoon'>;

/** @throws UnreadableEventError when the log holds events that this version cannot read */
export async function openEventStore(config: EngineConfig, use: LogUse = {}): Promise<EventStore> {
  const store = await openStoredLog(config, use);
  try {
    return await withoutErased(await withUpcasting(store, eventTypes));
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The log with events as stored, without upcasting. */
export async function openStoredLog(
  {
    DATA_DIR,
    DURABILITY: durability,
    EVENTSTORE_URL: url,
  }: Pick<EngineConfig, 'DATA_DIR' | 'DURABILITY' | 'EVENTSTORE_URL'>,
  use: LogUse = {},
): Promise<EventStore> {
  if (url === undefined) return openSqliteEventStore({ file: join(DATA_DIR, 'events.db'), durability, ...use });
  const { openEventStoreDb } = await import('../adapters/eventstore/eventstoredb/store.js');
  return openEventStoreDb({ url });
}

/** The store of the directory between starts. */
export const openStoredDirectory = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): DirectoryStore =>
  openDirectoryStore(join(DATA_DIR, 'directory.db'), String(TENANTS_VERSION));

/** The file of embedded read models. */
export const readModelFile = ({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): string => join(DATA_DIR, 'readmodels.db');

/**
 * The names of a lane's collections on MongoDB begin with it. It names count and rule, so that read models divided
 * otherwise are never read; a single lane has none, as before there were lanes.
 */
export const collectionPrefix = ({ index, of }: Lane): string =>
  of === 1 ? '' : `lane${index + 1}of${of}r${LANE_RULE}_`;

/** More only if set: with 5,000 tenants each lane takes 100 MB of memory while it is filled. */
const MOST_LANES = 2;

/** The number of lanes of a new MongoDB database. */
export const lanesWanted = ({ PROJECTION_LANES: set }: Pick<Config, 'PROJECTION_LANES'>): number =>
  set ?? Math.min(availableParallelism(), MOST_LANES);

/** What processes that project into one MongoDB database share; undefined for embedded read models. */
export async function openProjectors({
  MONGODB_URL: url,
}: Pick<Config, 'MONGODB_URL'>): Promise<Projectors | undefined> {
  if (url === undefined) return undefined;
  const { openMongoProjectors } = await import('../adapters/readmodels/mongodb/projectors.js');
  return openMongoProjectors(url);
}

/** The lanes of the stored read models; settles their number if the database is new. */
export async function settledLanes(config: Pick<Config, 'MONGODB_URL' | 'PROJECTION_LANES'>): Promise<readonly Lane[]> {
  const projectors = await openProjectors(config);
  if (projectors === undefined) return [ONLY_LANE];
  return lanesOf(await projectors.settleLanes(lanesWanted(config)).finally(() => projectors.close()));
}

/** @param onSlowList called with each list of embedded read models that takes long, and how its rows were found */
export async function openReadModels(
  config: EngineConfig,
  lane = ONLY_LANE,
  onSlowList: (list: object) => void = () => undefined,
): Promise<ReadModels> {
  const { MONGODB_URL: url, READER_THREADS, REQUEST_TIMEOUT_MS: timeoutMs } = config;
  if (url === undefined)
    return openSqliteReadModels({ file: readModelFile(config), readers: READER_THREADS, onSlowList });
  const { openMongoReadModels } = await import('../adapters/readmodels/mongodb/store.js');
  // No read is waited for any longer.
  return openMongoReadModels({ url, prefix: collectionPrefix(lane), timeoutMs });
}

type WriterOptions = {
  readonly lane?: Lane;
  /** Names the process: its writers follow one another and share the lease. */
  readonly owner?: string;
  /** If given, a damaged file is set aside, reported here, and replaced by an empty one. */
  readonly onSetAside?: (aside: string) => void;
};

export async function openReadModelWriter(
  config: EngineConfig,
  { lane = ONLY_LANE, owner, onSetAside }: WriterOptions = {},
): Promise<ReadModelWriter & RebuildableReadModels> {
  const url = config.MONGODB_URL;
  if (url === undefined)
    return openSqliteReadModelWriter({ file: readModelFile(config), ...(onSetAside && { onSetAside }) });
  const { openMongoReadModelWriter } = await import('../adapters/readmodels/mongodb/writer.js');
  return openMongoReadModelWriter({ url, prefix: collectionPrefix(lane), ...(owner === undefined ? {} : { owner }) });
}

/**
 * @param onTrouble called when the connection is lost; the adapter reconnects by itself, and connects later if the
 *   broker is away at first
 */
export async function openBroker(config: EngineConfig, onTrouble: (error: Error) => void): Promise<MessageBroker> {
  const url = config.RABBITMQ_URL;
  if (url === undefined) return openSqliteBroker({ file: join(config.DATA_DIR, 'broker.db') });
  const { openRabbitMqBroker } = await import('../adapters/broker/rabbitmq/broker.js');
  return openRabbitMqBroker({ url, onTrouble });
}
