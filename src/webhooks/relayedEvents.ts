/**
 * What events mean to the relay: which streams it reads, which webhooks want an event, and which messages follow from
 * it.
 */
import type { Caller, TenantDirectory } from '../commands/context.js';
import { firstDeliveryId } from '../commands/webhooks/deliveryIds.js';
import { type Webhook, wantedSince } from '../domain/identity/directory.js';
import { parseStream, STREAM_PREFIXES } from '../domain/streams.js';
import type { DeliverySubject, WebhookEvent, WebhookEventKind } from '../domain/webhook/events.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { Message } from '../ports/messageBroker.js';
import type { Subscription } from './deliveryRequests.js';
import { type BackfillJob, deliveryMessage, type ResumeJob } from './queue.js';

/** Approvals hold whole orders, so a slice is small. With fewer events, the writes at its end would dominate. */
export const SLICE_EVENTS = 250;

/** Orders that change at the same time, times their webhooks. */
export const REMEMBERED_ORDERS = 50_000;

const RELAY = { kind: 'system', id: 'webhook-relay' } as const;
const WEBHOOKS = 'webhooks-';

/**
 * A webhook gets no events from before it was created or subscribed to their kind, even if the relay starts at the
 * beginning of the log (another broker, an older copy of the log). Clocks of processes differ, and a delivery too many
 * is better than a lost one.
 */
const CLOCK_TOLERANCE_MS = 10_000;

export const isAboutWebhook = ({ stream }: RecordedEvent): boolean => stream.startsWith(WEBHOOKS);

/** Streams that some webhook needs: without webhooks, reading the log costs nothing. */
export function wantedStreams(directory: TenantDirectory): readonly string[] {
  const kinds = [...directory.tenants()].flatMap(({ webhooks }) =>
    [...webhooks.values()].flatMap(({ events }) => events),
  );
  const prefixes = [WEBHOOKS, STREAM_PREFIXES.delivery];
  if (kinds.some((kind) => kind.startsWith('order.'))) prefixes.push(STREAM_PREFIXES.order);
  if (kinds.some((kind) => kind.startsWith('reference.'))) prefixes.push(STREAM_PREFIXES.table);
  return prefixes;
}

/**
 * On whose behalf an event's deliveries are requested.
 * @param traceparent of the relay's span for the event
 */
export const relayCaller = (
  { id: causationId, metadata: { tenant, correlationId } }: RecordedEvent,
  traceparent?: string,
): Caller => ({ tenant, actor: RELAY, correlationId, causationId, traceparent });

/** The tenant's webhooks, each with what it wants. */
export function subscriptions(directory: TenantDirectory, event: RecordedEvent): readonly Subscription[] {
  const { webhooks } = directory.tenant(event.metadata.tenant) ?? {};
  return [...(webhooks?.values() ?? [])].map((webhook) => ({
    webhookId: webhook.id,
    wants: (each, kind) => webhook.events.includes(kind) && isOfItsTime(webhook, each, kind),
    deliveryId: (each, kind) => firstDeliveryId(webhook.id, each, kind),
  }));
}

const isOfItsTime = (webhook: Webhook, event: RecordedEvent, kind: WebhookEventKind): boolean =>
  Date.parse(wantedSince(webhook, kind)) <= Date.parse(event.metadata.occurredAt) + CLOCK_TOLERANCE_MS;

/** The delivery that an event requests; undefined for all other events, and for one that names no webhook. */
export function requestedDelivery({ stream, type, data }: RecordedEvent) {
  if (type !== 'DeliveryRequested') return undefined;
  const { purpose, webhookId, orderId } = (data ?? {}) as DeliverySubject;
  if (typeof webhookId !== 'string') return undefined;
  const { tenant, rest: deliveryId } = parseStream(stream);
  return { job: { tenant, deliveryId, webhookId, orderId }, purpose };
}

/**
 * The message for a replay, which may have been requested by a process without a broker. The relay's own requests have
 * no purpose, so nothing is published twice.
 */
export function replayMessages(event: RecordedEvent): readonly Message[] {
  const requested = requestedDelivery(event);
  return requested?.purpose === undefined ? [] : [deliveryMessage(requested.job)];
}

/** Work for the replays of this service that a webhook's event requests. */
export function taskMessages({ id: eventId, position, metadata, ...recorded }: RecordedEvent): readonly Message[] {
  // An event that names no webhook parks its tenant in the directory. Other tenants continue.
  if (!recorded.stream.startsWith(WEBHOOKS) || !namesWebhook(recorded.data)) return [];
  const { tenant, correlationId } = metadata;
  const event = { type: recorded.type, data: recorded.data } as WebhookEvent;
  const asked = { tenant, webhookId: event.data.id, eventId, position };
  if (event.type === 'WebhookEnabled') {
    const body: ResumeJob = { task: 'resume', ...asked };
    return [{ id: eventId, body }];
  }
  if (event.type === 'WebhookBackfillRequested') {
    const { backfillId, kinds, from, to } = event.data;
    if (!Array.isArray(kinds)) return [];
    const range = { backfillId, kinds: [...kinds], from, to };
    const body: BackfillJob = { task: 'backfill', ...asked, correlationId, ...range, done: 0, requested: 0 };
    return [{ id: backfillId, body }];
  }
  return [];
}

const namesWebhook = (data: unknown): boolean =>
  typeof data === 'object' && data !== null && 'id' in data && typeof data.id === 'string';
