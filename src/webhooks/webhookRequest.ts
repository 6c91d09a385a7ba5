/**
 * What an attempt sends: the body, made from the log (spec §6.1), and the headers, including signatures (spec §6.3).
 */
import { createHmac } from 'node:crypto';
import type { Application } from '../commands/application.js';
import type { Commands } from '../commands/context.js';
import { exportSnapshot } from '../commands/orders/orderWriter.js';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import type { DomainEvent } from '../commands/writeStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import type { OrderApproved } from '../domain/order/events.js';
import { exportText, OrderDocumentTooLargeError, orderText } from '../domain/order/exportDocument.js';
import {
  type BatchUndone,
  type BatchUpserted,
  type TableCleanedUp,
  unpackIds,
} from '../domain/referenceTable/events.js';
import { orderStream, tableStream } from '../domain/streams.js';
import { PAYLOAD_VERSIONS } from '../domain/webhook/catalogue/catalogue.js';
import { exampleBody, orderBodyText, tableBody } from '../domain/webhook/catalogue/example.js';
import type { AttemptResult } from '../domain/webhook/delivery.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import { AnswerTooLargeError } from '../ports/readModels.js';
import { encodeWithPauses } from '../supervision/waiting.js';
import type { DeliveryCache } from './deliveryCache.js';
import type { WebhookRequest, WebhookTransport } from './httpsTransport.js';

export type RequestParts = {
  readonly commands: Application;
  readonly cache: DeliveryCache;
  /** `version` is the service's, for the `User-Agent` header. */
  readonly settings: { readonly version: string };
};

/**
 * Prepares an attempt, signed with the current secrets and time. If its body would be too large, the attempt fails with
 * that reason, without a call.
 * @throws ReadModelsUnavailableError, EventStoreUnavailableError, UnopenableSecretError
 */
export async function prepareAttempt(
  parts: RequestParts,
  tenant: Tenant,
  webhook: Webhook,
  { delivery: { subject }, deliveryId }: LoadedDelivery,
): Promise<(transport: WebhookTransport) => Promise<AttemptResult>> {
  try {
    const body = await payloadOf(parts, tenant, webhook, subject);
    const sent = { subject, messageId: subject.messageId ?? deliveryId, body };
    const request = signedRequest(parts.commands, webhook, sent, parts.settings.version);
    return (transport) => transport.post(request);
  } catch (error) {
    if (!(error instanceof OrderDocumentTooLargeError || error instanceof AnswerTooLargeError)) throw error;
    const { message: reason } = error;
    return async () => ({ ok: false, reason, status: null, durationMs: 0, responseBody: null, notSent: true });
  }
}

type Sent = {
  readonly subject: Pick<DeliverySubject, 'kind' | 'purpose' | 'sourceRevision'>;
  readonly messageId: string;
  readonly body: Uint8Array;
};

/**
 * @param version of the service, for `User-Agent`
 * @throws UnopenableSecretError
 */
export function signedRequest(
  { secretBox, now }: Pick<Commands, 'secretBox' | 'now'>,
  { url, sealedSecret, stagedSecret }: Webhook,
  { subject, messageId, body }: Sent,
  version: string,
): WebhookRequest {
  const primary = secretBox.open(sealedSecret);
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `dynamic-assets/${version}`,
    ...signatureHeaders({
      body,
      messageId,
      timestamp: Math.floor(Date.parse(now()) / 1000),
      secrets: stagedSecret === undefined ? [primary] : [primary, secretBox.open(stagedSecret)],
    }),
    'webhook-event': subject.kind,
    'webhook-event-version': PAYLOAD_VERSIONS[subject.kind],
    'webhook-sequence': String(subject.sourceRevision),
    ...(subject.purpose === undefined ? {} : { 'webhook-replay': subject.purpose }),
  };
  return { url, headers, body };
}

/**
 * The body as UTF-8 JSON. For an approval, each attempt and replay has the same bytes. For other order events, the
 * order is as it was then, and the reference records that it names are as they are now. A test sends the catalogue's
 * example.
 * @throws Error if the log does not hold the event that the delivery is about
 */
export async function payloadOf(
  parts: Pick<RequestParts, 'commands' | 'cache'>,
  tenant: Tenant,
  { customData }: Webhook,
  subject: DeliverySubject,
): Promise<Uint8Array> {
  const text =
    subject.purpose === 'test'
      ? [JSON.stringify(exampleBody(subject.kind, tenant, customData))]
      : await bodyText(parts, tenant, subject, customData);
  return Buffer.concat(await encodeWithPauses(text));
}

/** JSON text in pieces. */
async function bodyText(
  { commands, cache }: Pick<RequestParts, 'commands' | 'cache'>,
  { name, assetTypes }: Tenant,
  subject: DeliverySubject,
  customData: Webhook['customData'],
): Promise<Iterable<string>> {
  const { kind, orderId, table = '', sourceRevision: revision } = subject;
  switch (kind) {
    case 'reference.batch_upserted': {
      const types = ['BatchUpserted', 'BatchUndone'] as const;
      const stream = tableStream(name, table);
      const event = await sourceEvent<BatchUpserted | BatchUndone>(cache, stream, subject, types);
      const { batchId, changed, seen } = event.data;
      const created = 'created' in event.data ? event.data.created : [];
      const counts = { created: created.length, updated: changed.length, unchanged: unpackIds(seen).length };
      const about = { table, revision, occurredAt: event.metadata.occurredAt };
      return [JSON.stringify(tableBody(kind, about, batchId ?? null, counts, customData))];
    }
    case 'reference.cleaned_up': {
      const event = await sourceEvent<TableCleanedUp>(cache, tableStream(name, table), subject, ['TableCleanedUp']);
      const about = { table, revision, occurredAt: event.metadata.occurredAt };
      return [JSON.stringify(tableBody(kind, about, event.data.batchId, { deleted: event.data.deleted }, customData))];
    }
    case 'order.approved': {
      // The order as approved, not as it is now.
      const event = await sourceEvent<OrderApproved>(cache, orderStream(name, orderId), subject, ['OrderApproved']);
      const { snapshot, ...approval } = event.data;
      return orderBodyText(exportText(snapshot, approval, assetTypes), customData);
    }
    default: {
      const order = await commands.orders.loadAt(name, orderId, revision);
      if (order?.revision !== revision || order.eventId !== subject.sourceEventId) {
        throw missing(orderStream(name, orderId), subject);
      }
      const { state, approval } = order;
      const snapshot = await exportSnapshot(commands, name, orderId, state);
      return orderBodyText(orderText(snapshot, approval, assetTypes), customData);
    }
  }
}

/** The event that the delivery is about. @throws Error if it has none of these types */
async function sourceEvent<Event extends DomainEvent>(
  cache: DeliveryCache,
  stream: string,
  subject: DeliverySubject,
  types: readonly Event['type'][],
): Promise<RecordedEvent & Pick<Event, 'data'>> {
  const event = await cache.event({ stream, revision: subject.sourceRevision });
  if (event?.id !== subject.sourceEventId || !types.some((type) => type === event.type)) throw missing(stream, subject);
  return event;
}

const missing = (stream: string, { kind, sourceEventId, sourceRevision }: DeliverySubject): Error =>
  new Error(`${stream} has no event ${sourceEventId} of ${kind} at revision ${sourceRevision}.`);

/**
 * The `Signature` header (spec §6.3): HMAC-SHA256 (RFC 4868) over the raw bytes of the body, in lower-case hex.
 * @param secret as shown when the webhook was created, including `whsec_`; its UTF-8 bytes are the key
 */
export const signatureOf = (body: Uint8Array, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

type SignedMessage = {
  readonly body: Uint8Array;
  /** The same for every attempt. Contains no full stop, which separates the signed parts. */
  readonly messageId: string;
  /** Time of this attempt, Unix seconds. */
  readonly timestamp: number;
  /** As shown, including `whsec_`. The second one is staged while a rotation is under way. */
  readonly secrets: readonly [primary: string, staged?: string];
};

export type SignatureHeaders = {
  readonly Signature: string;
  readonly 'webhook-id': string;
  readonly 'webhook-timestamp': string;
  readonly 'webhook-signature': string;
};

/**
 * The headers that prove a request's origin. `webhook-signature` has one signature per secret, the primary's first
 * (Standard Webhooks 1.0.0, "Signature scheme"); `Signature` has exactly one, by the primary secret.
 */
export function signatureHeaders({ body, messageId, timestamp, secrets }: SignedMessage): SignatureHeaders {
  const signatures = secrets.flatMap((secret) =>
    secret === undefined ? [] : [`v1,${standardSignature(body, messageId, timestamp, secret)}`],
  );
  return {
    Signature: signatureOf(body, secrets[0]),
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': signatures.join(' '),
  };
}

/** Unlike for `Signature`, the key is the bytes that the secret encodes. */
function standardSignature(body: Uint8Array, messageId: string, timestamp: number, secret: string): string {
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  return createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64');
}
