/** The delivery log: each delivery to a webhook, with all its attempts. */
import { TENANT_STREAM_PREFIX } from '../domain/identity/directory.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import { MAX_DELIVERY_ATTEMPTS } from '../domain/webhook/delivery.js';
import type { DeliveryEvent, DeliverySubject } from '../domain/webhook/events.js';
import type { DeliveryAttempt, DeliveryLogEntry } from '../ports/deliveryLog.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';

export const deliveriesProjection: Projection = {
  name: 'deliveries',
  version: 3,
  streamPrefixes: [TENANT_STREAM_PREFIX, STREAM_PREFIXES.delivery],
  async apply(event, tenant, target) {
    const { category, rest: id } = parseStream(event.stream);
    if (event.type === 'TenantDeleted') await target.dropTenant('deliveries', tenant.name);
    if (category !== 'delivery') return;
    const entry = event.revision === 0 ? undefined : await target.delivery(tenant.name, id);
    const next = entryAfter(entry, id, event);
    if (next !== undefined) await target.putDelivery(tenant.name, next);
  },
};

/** The entry after the event; undefined if the event changes nothing. */
function entryAfter(
  entry: DeliveryLogEntry | undefined,
  id: string,
  recorded: RecordedEvent,
): DeliveryLogEntry | undefined {
  const event = { type: recorded.type, data: recorded.data } as DeliveryEvent;
  if (entry !== undefined && entry.revision >= recorded.revision) return undefined;
  if (event.type === 'DeliveryRequested') return requested(id, event.data, recorded);
  // The entry was deleted after its retention, and its events are replayed.
  if (entry === undefined) return undefined;
  return { ...entry, ...changed(entry, event, recorded.metadata.occurredAt), revision: recorded.revision };
}

function requested(id: string, subject: DeliverySubject, { position, revision, metadata }: RecordedEvent) {
  return {
    id,
    revision,
    position,
    webhookId: subject.webhookId,
    messageId: subject.messageId ?? id,
    kind: subject.kind,
    purpose: subject.purpose ?? null,
    orderId: subject.orderId === '' ? null : subject.orderId,
    table: subject.table ?? null,
    sequence: subject.sourceRevision,
    requestedAt: metadata.occurredAt,
    state: 'open',
    endedAt: null,
    reason: null,
    retryAt: null,
    attempts: [],
  } as const;
}

function changed(
  { attempts }: DeliveryLogEntry,
  event: Exclude<DeliveryEvent, { type: 'DeliveryRequested' }>,
  at: string,
): Partial<DeliveryLogEntry> {
  switch (event.type) {
    case 'DeliveryAttemptStarted':
      return { retryAt: null, attempts: [...attempts, begun(event.data, at)] };
    case 'DeliveryAttemptFailed': {
      const { attempt, retryAt = null, notSent: _, ...outcome } = event.data;
      const tried = ended(attempts, attempt, { ...outcome, endedAt: at });
      // The last attempt fails before the order does, so a failed order has no delivery that seems open.
      const isLast = attempt >= MAX_DELIVERY_ATTEMPTS;
      const failed = isLast ? ({ state: 'failed', endedAt: at, reason: event.data.reason } as const) : {};
      return { retryAt, attempts: tried, ...failed };
    }
    case 'DeliverySucceeded': {
      const { attempt, status, durationMs, responseBody = null } = event.data;
      const outcome = { endedAt: at, durationMs, status, reason: null, responseBody };
      return { state: 'succeeded', endedAt: at, retryAt: null, attempts: ended(attempts, attempt, outcome) };
    }
    case 'DeliveryFailed':
      return { state: 'failed', endedAt: at, reason: event.data.reason, retryAt: null };
  }
}

type Started = Extract<DeliveryEvent, { type: 'DeliveryAttemptStarted' }>['data'];

const begun = (started: Started, at: string): DeliveryAttempt => ({
  ...started,
  startedAt: at,
  endedAt: null,
  durationMs: null,
  status: null,
  reason: null,
  responseBody: null,
});

const ended = (
  attempts: readonly DeliveryAttempt[],
  attempt: number,
  outcome: Omit<DeliveryAttempt, 'attempt' | 'url' | 'bodySha256' | 'startedAt'>,
): readonly DeliveryAttempt[] => attempts.map((each) => (each.attempt === attempt ? { ...each, ...outcome } : each));
