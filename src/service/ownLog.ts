/** Checks that an event log is the one that this data directory belongs to. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { storedIdentity } from '../adapters/eventstore/everyStore.js';
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import { OtherLogError } from '../ports/logAnchor.js';
import { writeWhole } from '../supervision/files.js';
import { LOG_ID_FILE } from './dataDirectory.js';
import { openEventStore } from './engines.js';

/**
 * Opens the event log. An unused data directory accepts any log.
 * @param acceptLog accepts any log
 * @throws OtherLogError; UnreadableEventError, and what the engine throws
 */
export async function openOwnLog(config: Config, acceptLog = false): Promise<EventStore> {
  const file = join(config.DATA_DIR, LOG_ID_FILE);
  const eventStore = await openEventStore(config);
  try {
    const kept = existsSync(file) ? (await readFile(file, 'utf8')).trim() : undefined;
    if (!acceptLog && kept !== undefined) await refuseOther(eventStore, config, kept);
    const id = await eventStore.identity();
    if (id !== kept) await writeWhole(file, `${id}\n`);
    return eventStore;
  } catch (error) {
    await eventStore.close();
    throw error;
  }
}

/** Writes nothing to a refused log, so that an empty one stays empty. @throws OtherLogError */
async function refuseOther(eventStore: EventStore, config: Config, kept: string): Promise<void> {
  const found = await storedIdentity(eventStore);
  if (kept === found) return;
  const where = config.EVENTSTORE_URL === undefined ? 'in DATA_DIR' : 'at EVENTSTORE_URL';
  const what = found === undefined ? 'is empty, and not' : `is another one (${found}) than`;
  throw new OtherLogError(
    `The event log ${where} ${what} the one that the data directory ${config.DATA_DIR} belongs to (${kept}).`,
  );
}
