/** Which engine stands behind each port: decided by one setting each, embedded where it is unset. */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { openSqliteBroker } from './adapters/broker/sqlite/broker.js';
import { openSqliteEventStore } from './adapters/eventstore/sqlite/store.js';
import { withUpcasting } from './adapters/eventstore/upcasting.js';
import { openSqliteReadModels } from './adapters/readmodels/sqlite/store.js';
import { openSqliteReadModelWriter } from './adapters/readmodels/sqlite/writer.js';
import { type Config, ConfigError } from './config.js';
import { eventTypes } from './domain/eventTypes.js';
import type { EventStore } from './ports/eventStore.js';
import type { MessageBroker } from './ports/messageBroker.js';
import type { ReadModels, ReadModelWriter, RebuildableReadModels } from './ports/readModels.js';

type EngineConfig = Pick<
  Config,
  'DATA_DIR' | 'DURABILITY' | 'READER_THREADS' | 'EVENTSTORE_URL' | 'MONGODB_URL' | 'RABBITMQ_URL'
>;

const file = (config: EngineConfig, name: string): string => join(config.DATA_DIR, name);

/** The data directory holds orders and secrets: only its owner may look inside. */
export async function prepareDataDirectory(config: EngineConfig): Promise<void> {
  await mkdir(config.DATA_DIR, { recursive: true, mode: 0o700 });
}

/** @throws UnreadableEventError when the log holds events that this version cannot read */
export async function openEventStore(config: EngineConfig): Promise<EventStore> {
  refuseUnsupported(config, 'EVENTSTORE_URL');
  const store = await openSqliteEventStore({ file: file(config, 'events.db'), durability: config.DURABILITY });
  return withUpcasting(store, eventTypes);
}

export async function openReadModels(config: EngineConfig): Promise<ReadModels> {
  refuseUnsupported(config, 'MONGODB_URL');
  return openSqliteReadModels({ file: file(config, 'readmodels.db'), readers: config.READER_THREADS });
}

export async function openReadModelWriter(config: EngineConfig): Promise<ReadModelWriter & RebuildableReadModels> {
  refuseUnsupported(config, 'MONGODB_URL');
  return openSqliteReadModelWriter({ file: file(config, 'readmodels.db') });
}

export async function openBroker(config: EngineConfig): Promise<MessageBroker> {
  refuseUnsupported(config, 'RABBITMQ_URL');
  return openSqliteBroker({ file: file(config, 'broker.db') });
}

/** Rather no start than a start on another engine than the one that was asked for. */
function refuseUnsupported(config: EngineConfig, name: 'EVENTSTORE_URL' | 'MONGODB_URL' | 'RABBITMQ_URL'): void {
  if (config[name] !== undefined) {
    throw new ConfigError(`${name} is set, but this version runs on the embedded engines only: unset it.`);
  }
}
