/**
 * What an attempt sends: the body, made from the log (spec §6.1), and the headers, including signatures (spec §6.3).
 */
import { createHash, createHmac } from 'node:crypto';
import type { Application } from '../commands/application.js';
import type { Commands } from '../commands/context.js';
import { loadOrder } from '../commands/orders/orderStream.js';
import { exportSnapshot } from '../commands/orders/snapshots.js';
import type { LoadedDelivery } from '../commands/webhooks/deliveryStream.js';
import { exampleOf } from '../commands/webhooks/exampleOrder.js';
import type { DomainEvent } from '../commands/writeStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { orderDocument } from '../domain/order/document.js';
import type { OrderApproved } from '../domain/order/events.js';
import {
  type BatchUndone,
  type BatchUpserted,
  type TableCleanedUp,
  unpackIds,
} from '../domain/referenceTable/events.js';
import { orderStream, tableStream } from '../domain/streams.js';
import { payloadVersion } from '../domain/webhook/catalogue.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { WebhookRequest } from './httpsTransport.js';

/**
 * Makes a body as UTF-8 JSON. For an approval, each attempt and resend has the same bytes. For other order events, the order
 * is as it was then, and the reference records that it names are as they are now. A test sends an example.
 * @throws Error if the log does not hold the event that the delivery is about
 * @throws AnswerTooLargeError, RowsUnavailableError, EventStoreUnavailableError
 */
export async function makeBody(
  commands: Application,
  tenant: Tenant,
  { customData }: Pick<Webhook, 'customData'>,
  subject: DeliverySubject,
): Promise<Buffer> {
  const { kind, orderId, purpose } = subject;
  if (purpose === 'test') return bytesOf({ ...exampleOf(kind, tenant), custom_data: customData });
  if (orderId === '') return bytesOf({ ...(await ofTable(commands, tenant, subject)), custom_data: customData });
  return bytesOf({ validated_order: await ofOrder(commands, tenant, subject), custom_data: customData });
}

const bytesOf = (body: object): Buffer => Buffer.from(JSON.stringify(body));

async function ofTable({ eventStore }: Application, { name }: Tenant, subject: DeliverySubject): Promise<object> {
  const { kind, table = '', sourceRevision: revision } = subject;
  const stream = tableStream(name, table);
  if (kind === 'reference.cleaned_up') {
    const { data, metadata } = await sourceOf<TableCleanedUp>(eventStore, stream, subject, ['TableCleanedUp']);
    const { batchId: batch_id, deleted } = data;
    return { type: kind, timestamp: metadata.occurredAt, data: { table, batch_id, deleted, revision } };
  }
  const types = ['BatchUpserted', 'BatchUndone'] as const;
  const { data, metadata } = await sourceOf<BatchUpserted | BatchUndone>(eventStore, stream, subject, types);
  const { batchId: batch_id = null, changed, seen } = data;
  const created = 'created' in data ? data.created : [];
  const counts = { created: created.length, updated: changed.length, unchanged: unpackIds(seen).length };
  return { type: kind, timestamp: metadata.occurredAt, data: { table, batch_id, ...counts, revision } };
}

async function ofOrder(commands: Application, tenant: Tenant, subject: DeliverySubject): Promise<object> {
  const { name, assetTypes } = tenant;
  const { kind, orderId, sourceRevision: revision, sourceEventId } = subject;
  const stream = orderStream(name, orderId);
  if (kind === 'order.approved') {
    // The order as approved, not as it is now.
    const { data } = await sourceOf<OrderApproved>(commands.eventStore, stream, subject, ['OrderApproved']);
    const { snapshot, ...approval } = data;
    return orderDocument(snapshot, approval, assetTypes, { processing_status: 'submitted', error_reason: null });
  }
  const order = await loadOrder(commands.eventStore, name, orderId, { to: revision });
  if (order?.revision !== revision || order.eventId !== sourceEventId) throw missing(stream, subject);
  const snapshot = await exportSnapshot(commands.queries.records, tenant, orderId, order.state);
  return orderDocument(snapshot, order.state.lastApproval, assetTypes);
}

/** The event that the delivery is about. @throws Error if it has none of these types */
async function sourceOf<Event extends DomainEvent>(
  eventStore: Application['eventStore'],
  stream: string,
  subject: DeliverySubject,
  types: readonly Event['type'][],
): Promise<RecordedEvent & Pick<Event, 'data'>> {
  const { sourceRevision, sourceEventId } = subject;
  const [event] = await eventStore.readStream(stream, sourceRevision, sourceRevision);
  if (event?.id !== sourceEventId || !types.some((type) => type === event.type)) throw missing(stream, subject);
  return event;
}

const missing = (stream: string, { kind, sourceEventId, sourceRevision }: DeliverySubject): Error =>
  new Error(`${stream} has no event ${sourceEventId} of ${kind} at revision ${sourceRevision}.`);

/** SHA-256 in lower-case hex (FIPS 180-4). */
export const sha256Of = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');

type Sent = Pick<LoadedDelivery, 'delivery' | 'deliveryId'>;

/** Headers that each attempt has alike. @param version of the service */
export const lastingHeaders = ({ delivery: { subject }, deliveryId }: Sent, version: string) => ({
  'Content-Type': 'application/json',
  'User-Agent': `dynamic-assets/${version}`,
  'webhook-id': subject.messageId ?? deliveryId,
  'webhook-event': subject.kind,
  'webhook-event-version': payloadVersion(subject.kind),
  'webhook-sequence': String(subject.sourceRevision),
  ...(subject.purpose === undefined ? {} : { 'webhook-replay': subject.purpose }),
});

/** Signs with the current secrets and time. @throws UnopenableSecretError */
export function signedRequest(
  { secretBox, now }: Commands,
  { url, sealedSecret, otherSecret }: Webhook,
  delivery: Sent,
  body: Uint8Array,
  version: string,
): WebhookRequest {
  const nowMs = Date.parse(now());
  const isOver = otherSecret === undefined || Date.parse(otherSecret.until ?? '') <= nowMs;
  const secrets = [secretBox.open(sealedSecret), ...(isOver ? [] : openedIfKnown(secretBox, otherSecret.sealed))];
  const lasting = lastingHeaders(delivery, version);
  const message = { body, messageId: lasting['webhook-id'], timestamp: Math.floor(nowMs / 1000), secrets };
  return { url, headers: { ...lasting, ...signatureHeaders(message) }, body };
}

/** The secret before may be the one whose key was lost. */
function openedIfKnown(secretBox: Commands['secretBox'], sealed: string): readonly string[] {
  try {
    return [secretBox.open(sealed)];
  } catch {
    return [];
  }
}

/**
 * The `Signature` header (spec §6.3): HMAC-SHA256 (RFC 4868) over the raw bytes of the body, in lower-case hex.
 * @param secret as shown when the webhook was created, including `whsec_`; its UTF-8 bytes are the key
 */
export const signatureOf = (body: Uint8Array, secret: string): string =>
  createHmac('sha256', secret).update(body).digest('hex');

type Message = {
  readonly body: Uint8Array;
  /** The same for every attempt. Contains no full stop, which separates the signed parts. */
  readonly messageId: string;
  /** Time of this attempt, Unix seconds. */
  readonly timestamp: number;
  /** As shown, including `whsec_`; the current one first. */
  readonly secrets: readonly string[];
};

/**
 * The headers that prove a request's origin. `webhook-signature` has one signature per secret (Standard Webhooks 1.0.0,
 * "Signature scheme"); `Signature` has exactly one, by the current secret.
 */
export function signatureHeaders({ body, messageId, timestamp, secrets }: Message) {
  const standard = secrets.map((secret) => {
    // Unlike for `Signature`, the key is the bytes that the secret encodes.
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return {
    Signature: signatureOf(body, secrets[0] ?? ''),
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
  };
}
