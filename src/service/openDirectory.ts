import type { Logger } from 'pino';
import type { Config } from '../config.js';
import { Directory } from '../directory/directory.js';
import { EventLogDamagedError, type EventStore, LogReplacedError } from '../ports/eventStore.js';
import { openStoredDirectory } from './engines.js';
import type { StartProgress } from './startProgress.js';

/** Starts the directory of tenants, and logs its interruptions. @throws what the event store throws */
export function openDirectory(
  config: Config,
  eventStore: EventStore,
  log: Logger,
  onReplaced: (places: string) => void,
  onReading: StartProgress['directory'],
): Promise<Directory> {
  let lastMessage = '';
  const onInterruption = (error: unknown): void => {
    const message = error instanceof Error ? error.message : '';
    // Met at each retry, until a person restores a backup.
    if (error instanceof EventLogDamagedError && message === lastMessage) return;
    lastMessage = message;
    // Every process has a directory, so this reports a replaced log first.
    if (error instanceof LogReplacedError) onReplaced(error.places);
    else log.error({ err: error }, 'the directory of tenants is interrupted, and tries again');
  };
  const keeping = {
    store: openStoredDirectory(config),
    onError: (error: unknown) =>
      log.warn({ err: error }, 'the directory of tenants cannot be stored; the next start takes longer'),
  };
  const onParked = (parked: object): void =>
    log.error(parked, 'an event of a tenant cannot be applied: the tenant is not served');
  return Directory.start(eventStore, onInterruption, keeping, onParked, onReading);
}
