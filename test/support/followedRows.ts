/** Rows of a log, made in this process: what the service's thread does, without the thread. */
import { join } from 'node:path';
import { openRowReads } from '#app/adapters/rows/sqlite/reads.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { Follower } from '#app/projections/follower.js';
import { Progress } from '#app/projections/progress.js';
import { slicesOf } from '#app/projections/rows.js';

const DELIVERY_LOG_DAYS = 90;

/** @param directory of the data */
export function openRows(directory: string) {
  const rows = openRowReads({ directory: join(directory, 'rows'), readers: 1 });
  return { rows, progress: new Progress(rows, { isTold: true }) };
}

/** Makes the rows until the signal aborts. */
export async function followLog(
  eventStore: EventStore,
  directory: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const writer = openRowWriter({ directory: join(directory, 'rows') });
  const follower = new Follower({
    eventStore,
    writer,
    slicesOf: (tenant, events, store) => slicesOf(tenant, events, store, { deliveryLogDays: DELIVERY_LOG_DAYS }),
    onNews: (news) => progress.tell(news),
  });
  await follower.run(signal).finally(() => writer.close());
}
