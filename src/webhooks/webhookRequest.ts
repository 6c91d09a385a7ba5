/**
 * What an attempt sends: the body, made from the log (spec §6.1), and the headers, including signatures (spec §6.3).
 */
import { createHash, createHmac } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Application } from '../commands/application.js';
import type { Commands } from '../commands/context.js';
import { exportSnapshot } from '../commands/orders/orderWriter.js';
import type { DomainEvent } from '../commands/writeStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import type { OrderApproved } from '../domain/order/events.js';
import { exportDocument, orderDocument } from '../domain/order/exportDocument.js';
import {
  type BatchUndone,
  type BatchUpserted,
  type TableCleanedUp,
  unpackIds,
} from '../domain/referenceTable/events.js';
import { orderStream, tableStream } from '../domain/streams.js';
import { exampleBody, payloadVersion, tableBody } from '../domain/webhook/catalogue.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import type { RecordedEvent } from '../ports/eventStore.js';
import type { WebhookRequest } from './httpsTransport.js';

/** Bytes of orders' documents that are kept for attempts of deliveries. */
const DOCUMENT_CACHE_BYTES = 64 * 1024 * 1024;

/** How long what holds records as they are now is kept: the webhooks of an event ask at about the same time. */
const NOW_MS = 1_000;

/**
 * Makes bodies as UTF-8 JSON. For an approval, each attempt and replay has the same bytes. For other order events, the order
 * is as it was then, and the reference records that it names are as they are now. A test sends the catalogue's example.
 */
export class Payloads {
  readonly #commands: Application;
  /** Bodies without their end, the custom data: they are the same for all webhooks of an event. */
  readonly #beginnings = new LRUCache<string, Buffer, () => Promise<Buffer>>({
    maxSize: DOCUMENT_CACHE_BYTES,
    sizeCalculation: ({ byteLength }) => byteLength,
    // Callers that wait for one get it even if there is no room to keep it.
    ignoreFetchAbort: true,
    fetchMethod: (_key, _stale, { context: make }) => make(),
  });
  #erasures: number | undefined;

  constructor(commands: Application) {
    this.#commands = commands;
  }

  /**
   * @throws Error if the log does not hold the event that the delivery is about
   * @throws OrderDocumentTooLargeError, AnswerTooLargeError, RowsUnavailableError, EventStoreUnavailableError
   */
  async make(tenant: Tenant, { customData }: Pick<Webhook, 'customData'>, subject: DeliverySubject): Promise<Buffer> {
    const { kind, orderId, sourceEventId, purpose } = subject;
    if (purpose === 'test') return Buffer.from(JSON.stringify(exampleBody(kind, tenant, customData)));
    this.#forgetErased();
    const isNow = orderId !== '' && kind !== 'order.approved';
    const make = () => (orderId === '' ? this.#ofTable(tenant, subject) : this.#ofOrder(tenant, subject));
    const key = `${tenant.name} ${isNow} ${sourceEventId}`;
    const beginning = await this.#beginnings.fetch(key, { context: make, ttl: isNow ? NOW_MS : 0 });
    // Only what is being removed while it is made is undefined.
    return Buffer.concat([beginning ?? (await make()), Buffer.from(`,"custom_data":${JSON.stringify(customData)}}`)]);
  }

  /** What is erased since may be in all of it. */
  #forgetErased(): void {
    const count = this.#commands.eventStore.erasures?.count;
    if (count !== this.#erasures) this.#beginnings.clear();
    this.#erasures = count;
  }

  async #ofTable({ name }: Tenant, subject: DeliverySubject): Promise<Buffer> {
    const { kind, table = '', sourceRevision: revision } = subject;
    const stream = tableStream(name, table);
    const body = (event: RecordedEvent, batchId: string | null, counts: { readonly [what: string]: number }) => {
      const about = { table, revision, occurredAt: event.metadata.occurredAt };
      return Buffer.from(JSON.stringify(tableBody(kind, about, batchId, counts)).slice(0, -1));
    };
    if (kind === 'reference.cleaned_up') {
      const event = await this.#source<TableCleanedUp>(stream, subject, ['TableCleanedUp']);
      return body(event, event.data.batchId, { deleted: event.data.deleted });
    }
    const event = await this.#source<BatchUpserted | BatchUndone>(stream, subject, ['BatchUpserted', 'BatchUndone']);
    const { batchId, changed, seen } = event.data;
    const created = 'created' in event.data ? event.data.created : [];
    const counts = { created: created.length, updated: changed.length, unchanged: unpackIds(seen).length };
    return body(event, batchId ?? null, counts);
  }

  async #ofOrder({ name, assetTypes }: Tenant, subject: DeliverySubject): Promise<Buffer> {
    const { kind, orderId, sourceRevision: revision, sourceEventId } = subject;
    const stream = orderStream(name, orderId);
    if (kind === 'order.approved') {
      // The order as approved, not as it is now.
      const { data } = await this.#source<OrderApproved>(stream, subject, ['OrderApproved']);
      const { snapshot, ...approval } = data;
      return beginningOf(exportDocument(snapshot, approval, assetTypes));
    }
    const order = await this.#commands.orders.loadAt(name, orderId, revision);
    if (order?.revision !== revision || order.eventId !== sourceEventId) throw missing(stream, subject);
    const snapshot = await exportSnapshot(this.#commands, name, orderId, order.state);
    return beginningOf(orderDocument(snapshot, order.approval, assetTypes));
  }

  /** The event that the delivery is about. @throws Error if it has none of these types */
  async #source<Event extends DomainEvent>(
    stream: string,
    subject: DeliverySubject,
    types: readonly Event['type'][],
  ): Promise<RecordedEvent & Pick<Event, 'data'>> {
    const { sourceRevision, sourceEventId } = subject;
    const [event] = await this.#commands.eventStore.readStream(stream, sourceRevision, sourceRevision);
    if (event?.id !== sourceEventId || !types.some((type) => type === event.type)) throw missing(stream, subject);
    return event;
  }
}

const beginningOf = (order: object): Buffer => Buffer.from(`{"validated_order":${JSON.stringify(order)}`);

const missing = (stream: string, { kind, sourceEventId, sourceRevision }: DeliverySubject): Error =>
  new Error(`${stream} has no event ${sourceEventId} of ${kind} at revision ${sourceRevision}.`);

/** SHA-256 in lower-case hex (FIPS 180-4). */
export const sha256Of = (body: Uint8Array): string => createHash('sha256').update(body).digest('hex');

type Sent = {
  readonly subject: Pick<DeliverySubject, 'kind' | 'purpose' | 'sourceRevision'>;
  readonly messageId: string;
  readonly body: Uint8Array;
};

/**
 * Signs with the current secrets and time.
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
  const timestamp = Math.floor(Date.parse(now()) / 1000);
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `dynamic-assets/${version}`,
    ...signatureHeaders({
      body,
      messageId,
      timestamp,
      secrets: stagedSecret === undefined ? [primary] : [primary, secretBox.open(stagedSecret)],
    }),
    'webhook-event': subject.kind,
    'webhook-event-version': payloadVersion(subject.kind),
    'webhook-sequence': String(subject.sourceRevision),
    ...(subject.purpose === undefined ? {} : { 'webhook-replay': subject.purpose }),
  };
  return { url, headers, body };
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
export function signatureHeaders({ body, messageId, timestamp, secrets }: Message): SignatureHeaders {
  const known = secrets.filter((secret) => secret !== undefined);
  const standard = known.map((secret) => {
    // Unlike for `Signature`, the key is the bytes that the secret encodes.
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
    return `v1,${createHmac('sha256', key).update(`${messageId}.${timestamp}.`).update(body).digest('base64')}`;
  });
  return {
    Signature: signatureOf(body, secrets[0]),
    'webhook-id': messageId,
    'webhook-timestamp': String(timestamp),
    'webhook-signature': standard.join(' '),
  };
}
