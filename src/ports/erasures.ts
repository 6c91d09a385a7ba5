/** What a log no longer shows, read from the log. */
import { type ErasureRecorded, Erasures } from '../domain/erasure.js';
import { ERASURES_STREAM } from '../domain/streams.js';
import type { EventStore, RecordedEvent } from './eventStore.js';

/** The erasures of a log as they are now, and a function that reads those since. */
export async function erasuresOf(log: Pick<EventStore, 'readStream'>) {
  const erasures = new Erasures();
  let next = 0;
  const readOn = async (): Promise<void> => {
    for (const event of await log.readStream(ERASURES_STREAM, next)) {
      // Two may read at once.
      if (event.revision < next) continue;
      next = event.revision + 1;
      if (event.type === 'ErasureRecorded') erasures.add(event as RecordedEvent & ErasureRecorded, event.position);
    }
  };
  await readOn();
  return { erasures, readOn };
}
