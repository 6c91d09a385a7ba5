/** Checks that an event log is the one that this data directory, and the engines beside it, belong to. */
import { existsSync } from 'node:fs';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storedIdentity } from '../adapters/eventstore/everyStore.js';
import type { EventStore } from '../ports/eventStore.js';
import { isSameLog, type LogAnchor, OtherLogError } from '../ports/logAnchor.js';
import { LOG_ID_FILE } from './dataDirectory.js';
import { type EngineConfig, openEventStore } from './engines.js';

type LogOptions = {
  /** Accepts any log. */
  readonly acceptLog: boolean;
};

/**
 * Opens the event log. An unused data directory accepts any log.
 * @throws OtherLogError; UnreadableEventError, and what the engine throws
 */
export async function openOwnLog(config: EngineConfig, { acceptLog }: LogOptions): Promise<EventStore> {
  const eventStore = await openEventStore(config);
  try {
    const kept = await storedId(config);
    if (!acceptLog && kept !== undefined) await refuseOther(eventStore, config, kept);
    const id = await eventStore.identity();
    if (id !== kept) await storeId(config, id);
    return eventStore;
  } catch (error) {
    await eventStore.close();
    throw error;
  }
}

/** Writes nothing to a refused log, so that an empty one stays empty. @throws OtherLogError */
async function refuseOther(eventStore: EventStore, config: EngineConfig, kept: string): Promise<void> {
  const found = await storedIdentity(eventStore);
  if (kept === found) return;
  const where = config.EVENTSTORE_URL === undefined ? 'in DATA_DIR' : 'at EVENTSTORE_URL';
  const what = found === undefined ? 'is empty, and not' : `is another one (${found}) than`;
  throw new OtherLogError(
    `The event log ${where} ${what} the one that the data directory ${config.DATA_DIR} belongs to (${kept}).`,
  );
}

async function storedId({ DATA_DIR }: Pick<EngineConfig, 'DATA_DIR'>): Promise<string | undefined> {
  const file = join(DATA_DIR, LOG_ID_FILE);
  return existsSync(file) ? (await readFile(file, 'utf8')).trim() : undefined;
}

async function storeId({ DATA_DIR }: Pick<EngineConfig, 'DATA_DIR'>, id: string): Promise<void> {
  const draft = join(DATA_DIR, `${LOG_ID_FILE}.${process.pid}`);
  await writeFile(draft, `${id}\n`, { mode: 0o600 });
  await rename(draft, join(DATA_DIR, LOG_ID_FILE));
}

/**
 * Checks that data of an engine was derived from this log. If the engine is away, its users check when it is back.
 * @param whose as the beginning of a sentence: "The rows"
 * @param onAway called with the reason if nothing is known
 * @throws OtherLogError if the data was derived from another log
 */
export async function refuseOtherSource(
  eventStore: EventStore,
  whose: string,
  place: () => Promise<LogAnchor | undefined>,
  { acceptLog, onAway }: LogOptions & { readonly onAway: (error: unknown) => void },
): Promise<void> {
  const kept = await place().catch(onAway);
  if (kept !== undefined) await isSameLog(eventStore, kept, { whose, acceptLog });
}
