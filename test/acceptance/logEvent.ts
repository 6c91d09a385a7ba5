/** Events written to a log by hand, as no command would write them. */
import { newId, now } from '#app/commands/clock.js';
import { readConfig } from '#app/config.js';
import { parseStream } from '#app/domain/streams.js';
import type { AppendResult, EventToAppend } from '#app/ports/eventStore.js';
import { openEventStore } from '#app/service/engines.js';

export const logEvent = (tenant: string, type: string, data: unknown): EventToAppend => ({
  id: newId(),
  type,
  data,
  metadata: {
    tenant,
    actor: { kind: 'system', id: 'test' },
    correlationId: newId(),
    causationId: newId(),
    occurredAt: now(),
    schemaVersion: 1,
  },
});

/** The settings that name the log of a service. */
export const logOf = ({ dataDir }: { readonly dataDir: string }): { readonly [name: string]: string } => ({
  DATA_DIR: dataDir,
  ...Object.fromEntries(
    ['EVENTSTORE_URL', 'MONGODB_URL', 'RABBITMQ_URL'].flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  ),
});

/**
 * @param settings that name the log, which others may have open
 * @param all the data of each event
 */
export async function appendByHand(
  settings: { readonly [name: string]: string },
  stream: string,
  type: string,
  ...all: readonly unknown[]
): Promise<AppendResult> {
  const log = await openEventStore(readConfig(settings));
  try {
    const { tenant } = parseStream(stream);
    return await log.append(
      stream,
      all.map((data) => logEvent(tenant, type, data)),
      'any',
    );
  } finally {
    await log.close();
  }
}
