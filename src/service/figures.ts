/** What `/metrics` says of engines, disk, rows and queues. */
import type { Registry } from 'prom-client';
import type { Config } from '../config.js';
import type { MessageBroker } from '../ports/messageBroker.js';
import { one, registerGauges, type Values } from '../supervision/gauges.js';
import { BACKFILL_QUEUE, DELIVERY_QUEUE } from '../webhooks/queue.js';
import { diskOf, lastBackupAt } from './dataDirectory.js';
import { answerInTime, checkAll, type EngineProbes, type RowWatch } from './health.js';

type Seen = {
  readonly engines: EngineProbes;
  readonly head: () => Promise<number>;
  /** Undefined if another process follows the log for the rows. */
  readonly watch: RowWatch | undefined;
  readonly parked: () => { readonly length: number };
  readonly broker: MessageBroker | undefined;
};

export function registerFigures(registry: Registry, { DATA_DIR }: Config, seen: Seen): void {
  const { engines, head, watch, parked, broker } = seen;
  registerGauges(registry, {
    engine_up: [
      '1 when the engine answers, 0 when it is away.',
      async () => Object.entries(await checkAll(engines)).map(([engine, { ok }]) => [{ engine }, ok ? 1 : 0]),
      'engine',
    ],
    data_directory_free_bytes: [
      'What the service may still write on the disk of DATA_DIR.',
      async () => one((await diskOf(DATA_DIR)).free),
    ],
    data_directory_size_bytes: ['Size of the disk of DATA_DIR.', async () => one((await diskOf(DATA_DIR)).size)],
    backup_last_timestamp_seconds: [
      'When "dynamic-assets backup" was last done with this DATA_DIR, in seconds since 1970; 0 where it never was.',
      async () => one(((await lastBackupAt(DATA_DIR)) ?? 0) / 1000),
    ],
    event_log_position: ['Position of the last event in the log, 0 while it is empty.', async () => one(await head())],
    ...(watch && {
      projection_lag_events: [
        'Positions of the log that the rows of tenants lack.',
        async () => one(await watch.lag()),
      ],
      projections_parked: ['Tenants parked at an event that could not be applied.', () => one(parked().length)],
    }),
    ...(broker && {
      queue_messages: ['Messages in a queue: ready, delayed, in work.', () => ofQueues(broker), 'queue', 'state'],
    }),
  });
}

/** engine_up reports a broker that is away. */
async function ofQueues(broker: MessageBroker): Promise<Values> {
  const queues = [DELIVERY_QUEUE, BACKFILL_QUEUE].map(async (queue) => {
    const { ready, delayed, inFlight } = await answerInTime(broker.depth(queue));
    return Object.entries({ ready, delayed, in_work: inFlight }).map(([state, n]) => [{ queue, state }, n] as const);
  });
  return (await Promise.all(queues)).flat();
}
