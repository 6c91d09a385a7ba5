/** Starts this process's directory of tenants, and logs its interruptions. */
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
    // Met at each retry, until a person restores a backup.
    if (error instanceof EventLogDamagedError && message === told) return;
    told = message;
    // Every process has a directory, so this reports a replaced log first.
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
