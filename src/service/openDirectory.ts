/** Starts the directory of tenants of this process, and tells its log what becomes of it. */
import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Directory } from '../directory/directory.js';
import { EventLogDamagedError, type EventStore, LogReplacedError } from '../ports/eventStore.js';
import { openStoredDirectory } from './engines.js';

/** @throws what the event store throws */
export function openDirectory(
  config: Config,
  eventStore: EventStore,
  log: Logger,
  onReplaced: () => void,
): Promise<Directory> {
  let told = '';
  const onInterruption = (error: unknown): void => {
    const message = error instanceof Error ? error.message : '';
    // It is met at each try, until a person puts a backup in its place.
    if (error instanceof EventLogDamagedError && message === told) return;
    told = message;
    // The directory is in each process, and hears of it as soon as any part.
    if (error instanceof LogReplacedError) onReplaced();
    else log.error({ err: error }, 'the directory of tenants is interrupted, and tries again');
  };
  const keeping = {
    store: openStoredDirectory(config),
    onError: (error: unknown) =>
      log.warn({ err: error }, 'the directory of tenants cannot be stored; the next start takes longer'),
  };
  return Directory.start(eventStore, onInterruption, keeping, (parked) =>
    log.error(parked, 'an event of a tenant cannot be applied: the tenant is not served'),
  );
}
