/**
 * What an attempt sends: the body, made from the log (spec §6.1), and the headers, including signatures (spec §6.3).
 */
import { createHash, createHmac, type Hmac } from 'node:crypto';
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
import { AnswerTooLargeError } from '../queries/rowText.js';
import { encodeWithPauses, Pauses } from '../supervision/waiting.js';
import type { DeliveryCache } from './deliveryCache.js';
import { type Body, piecesOf, type WebhookRequest, type WebhookTransport } from './httpsTransport.js';

export type RequestParts = {
  readonly commands: Application;
  readonly cache: DeliveryCache;
  /** `version` is the service's, for the `User-Agent` header. */
  readonly settings: { readonly version: string };
};

export type PreparedAttempt = {
  /** Hash of the body, kept with the attempt, so that a body made again can be proved to be the one that was sent. */
  readonly bodySha256?: string;
  readonly post: (transport: WebhookTransport) => Promise<AttemptResult>;
};

/**
 * Prepares an attempt, signed with the current secrets and time. If its body would be too large, the attempt fails with
 * that reason, without a call, and has no hash.
 * @throws RowsUnavailableError, EventStoreUnavailableError, UnopenableSecretError
 */
export async function prepareAttempt(
  parts: RequestParts,
  tenant: Tenant,
  webhook: Webhook,
  { delivery: { subject }, deliveryId }: LoadedDelivery,
): Promise<PreparedAttempt> {
  try {
    const body = await payloadOf(parts, tenant, webhook, subject);
    const sent = { subject, messageId: subject.messageId ?? deliveryId, body };
    const request = await signedRequest(parts.commands, webhook, sent, parts.settings.version);
    return { bodySha256: await sha256Of(body), post: (transport) => transport.post(request) };
  } catch (error) {
    if (!(error instanceof OrderDocumentTooLargeError || error instanceof AnswerTooLargeError)) throw error;
    const { message: reason } = error;
    const failed = { ok: false, reason, status: null, durationMs: 0, responseBody: null, notSent: true } as const;
    return { post: async () => failed };
  }
}

/** SHA-256 in lower-case hex (FIPS 180-4). */
export async function sha256Of(body: Body): Promise<string> {
  const hash = createHash('sha256');
  const pauses = new Pauses();
  for (const piece of piecesOf(body)) {
    hash.update(piece);
    if (pauses.isDue()) await pauses.take();
  }
  return hash.digest('hex');
}

type Sent = {
  readonly subject: Pick<DeliverySubject, 'kind' | 'purpose' | 'sourceRevision'>;
  readonly messageId: string;
  readonly body: Body;
};

/**
 * @param version of the service, for `User-Agent`
 * @throws UnopenableSecretError
 */
export async function signedRequest(
  { secretBox, now }: Pick<Commands, 'secretBox' | 'now'>,
  { url, sealedSecret, stagedSecret }: Webhook,
  { subject, messageId, body }: Sent,
  version: string,
): Promise<WebhookRequest> {
  const primary = secretBox.open(sealedSecret);
  const signing = new Signing({
    messageId,
    timestamp: Math.floor(Date.parse(now()) / 1000),
    secrets: stagedSecret === undefined ? [primary] : [primary, secretBox.open(stagedSecret)],
  });
  const pauses = new Pauses();
  for (const piece of piecesOf(body)) {
    signing.update(piece);
    if (pauses.isDue()) await pauses.take();
  }
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `dynamic-assets/${version}`,
    ...signing.headers(),
    'webhook-event': subject.kind,
    'webhook-event-version': PAYLOAD_VERSIONS[subject.kind],
    'webhook-sequence': String(subject.sourceRevision),
    ...(subject.purpose === undefined ? {} : { 'webhook-replay': subject.purpose }),
  };
  return { url, headers, body };
}

/**
 * The body as UTF-8 JSON. For an approval, each attempt and replay has the same bytes. For other order events, the
 * order is as it was then, and the reference records that it names are as they are now. Webhooks of one event share the
 * order's document. A test sends the catalogue's example.
 * @throws Error if the log does not hold the event that the delivery is about
 */
export async function payloadOf(
  parts: Pick<RequestParts, 'commands' | 'cache'>,
  tenant: Tenant,
  { customData }: Pick<Webhook, 'customData'>,
  subject: DeliverySubject,
): Promise<Body> {
  const { kind, orderId } = subject;
  if (subject.purpose === 'test') return [Buffer.from(JSON.stringify(exampleBody(kind, tenant, customData)))];
  if (orderId === '') return [Buffer.from(JSON.stringify(await tableBodyOf(parts, tenant, subject, customData)))];
  const document = await orderDocument(parts, tenant, subject);
  return [...orderBodyText(document, customData)].map((piece) =>
    typeof piece === 'string' ? Buffer.from(piece) : piece,
  );
}

async function tableBodyOf(
  { cache }: Pick<RequestParts, 'cache'>,
  { name }: Tenant,
  subject: DeliverySubject,
  customData: Webhook['customData'],
): Promise<object> {
  const { kind, table = '', sourceRevision: revision } = subject;
  switch (kind) {
    case 'reference.batch_upserted': {
      const types = ['BatchUpserted', 'BatchUndone'] as const;
      const stream = tableStream(name, table);
      const event = await sourceEvent<BatchUpserted | BatchUndone>(cache, stream, subject, types);
      const { batchId, changed, seen } = event.data;
      const created = 'created' in event.data ? event.data.created : [];
      const counts = { created: created.length, updated: changed.length, unchanged: unpackIds(seen).length };
      const about = { table, revision, occurredAt: event.metadata.occurredAt };
      return tableBody(kind, about, batchId ?? null, counts, customData);
    }
    case 'reference.cleaned_up': {
      const event = await sourceEvent<TableCleanedUp>(cache, tableStream(name, table), subject, ['TableCleanedUp']);
      const about = { table, revision, occurredAt: event.metadata.occurredAt };
      return tableBody(kind, about, event.data.batchId, { deleted: event.data.deleted }, customData);
    }
    default:
      throw new Error(`A delivery of ${kind} names no order.`);
  }
}

/** How long the document of an order with records as they are now is kept: its webhooks ask at about the same time. */
const NOW_MS = 1_000;

/** The `validated_order` as UTF-8 JSON in pieces. */
function orderDocument(
  { commands, cache }: Pick<RequestParts, 'commands' | 'cache'>,
  { name, assetTypes }: Tenant,
  subject: DeliverySubject,
): Promise<readonly Uint8Array[]> {
  const { kind, orderId, sourceRevision: revision, sourceEventId } = subject;
  if (kind === 'order.approved') {
    // The order as approved, not as it is now.
    return cache.document(`approved ${sourceEventId}`, async () => {
      const event = await sourceEvent<OrderApproved>(cache, orderStream(name, orderId), subject, ['OrderApproved']);
      const { snapshot, ...approval } = event.data;
      return encodeWithPauses(exportText(snapshot, approval, assetTypes));
    });
  }
  const make = async () => {
    const order = await commands.orders.loadAt(name, orderId, revision);
    if (order?.revision !== revision || order.eventId !== sourceEventId) {
      throw missing(orderStream(name, orderId), subject);
    }
    const { state, approval } = order;
    const snapshot = await exportSnapshot(commands, name, orderId, state);
    return encodeWithPauses(orderText(snapshot, approval, assetTypes));
  };
  return cache.document(`as it was ${sourceEventId}`, make, NOW_MS);
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
export const signatureOf = (body: Uint8Array, secret: string): string => hmacOf(secret).update(body).digest('hex');

const hmacOf = (key: string | Buffer): Hmac => createHmac('sha256', key);

type Message = {
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
export function signatureHeaders({ body, ...message }: Message & { readonly body: Uint8Array }): SignatureHeaders {
  const signing = new Signing(message);
  signing.update(body);
  return signing.headers();
}

/** Signs a body piece by piece. */
class Signing {
  readonly #message: Message;
  readonly #primary: Hmac;
  readonly #standard: readonly Hmac[];

  constructor(message: Message) {
    const { messageId, timestamp, secrets } = message;
    this.#message = message;
    this.#primary = hmacOf(secrets[0]);
    // Unlike for `Signature`, the key is the bytes that the secret encodes.
    this.#standard = secrets
      .filter((secret) => secret !== undefined)
      .map((secret) =>
        hmacOf(Buffer.from(secret.replace(/^whsec_/, ''), 'base64')).update(`${messageId}.${timestamp}.`),
      );
  }

  update(piece: Uint8Array): void {
    for (const hmac of [this.#primary, ...this.#standard]) hmac.update(piece);
  }

  headers(): SignatureHeaders {
    return {
      Signature: this.#primary.digest('hex'),
      'webhook-id': this.#message.messageId,
      'webhook-timestamp': String(this.#message.timestamp),
      'webhook-signature': this.#standard.map((hmac) => `v1,${hmac.digest('base64')}`).join(' '),
    };
  }
}
