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

/** @param settings that name the log, which others may have open */
export async function appendByHand(
  settings: { readonly [name: string]: string },
  stream: string,
  type: string,
  data: unknown,
): Promise<AppendResult> {
  const log = await openEventStore(readConfig(settings));
  try {
    return await log.append(stream, [logEvent(parseStream(stream).tenant, type, data)], 'any');
  } finally {
    await log.close();
  }
}
