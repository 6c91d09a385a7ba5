/** The body that an attempt of a delivery sent, made again from the log. */
import type { Application } from '../commands/application.js';
import { streamPages } from '../commands/streamPages.js';
import { type DeliveryKey, deliveryEvents } from '../commands/webhooks/deliveryStream.js';
import type { Tenant } from '../domain/identity/directory.js';
import { webhooksStream } from '../domain/streams.js';
import type { CustomData, DeliveryEvent, DeliverySubject, WebhookEvent } from '../domain/webhook/events.js';
import type { Position } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { Payloads, sha256Of } from './webhookRequest.js';

export type SentBody = {
  readonly startedAt: string;
  readonly url: string;
  /** Of what was sent, in hex; undefined if nothing was, and for attempts of earlier releases. */
  readonly sentSha256: string | undefined;
  readonly body: Buffer;
  /** Of `body`. Another one than `sentSha256` if records that the body names have changed since. */
  readonly madeSha256: string;
};

/**
 * With the webhook's custom data as it was then.
 * @returns undefined if there is no such attempt
 * @throws OrderDocumentTooLargeError, AnswerTooLargeError, RowsUnavailableError, EventStoreUnavailableError
 */
export async function sentBody(
  commands: Application,
  tenant: Tenant,
  key: DeliveryKey,
  attempt: number,
  cancellation: Cancellation,
): Promise<SentBody | undefined> {
  let subject: DeliverySubject | undefined;
  for (const { type, data, position, metadata } of await deliveryEvents(commands.eventStore, key)) {
    const event = { type, data } as DeliveryEvent;
    if (event.type === 'DeliveryRequested') subject = event.data;
    if (subject === undefined || event.type !== 'DeliveryAttemptStarted' || event.data.attempt !== attempt) continue;
    const webhook = { tenant: tenant.name, id: subject.webhookId };
    const payloads = new Payloads(commands);
    const { url, bodySha256: sentSha256 } = event.data;
    let newest: SentBody | undefined;
    for (const customData of await customDataUntil(commands, webhook, position, cancellation)) {
      const body = await payloads.make(tenant, { customData }, subject);
      const sent = { startedAt: metadata.occurredAt, url, sentSha256, body, madeSha256: sha256Of(body) };
      if (sent.madeSha256 === sentSha256) return sent;
      newest ??= sent;
    }
    return newest;
  }
  return undefined;
}

/** The attempt's body is made before the event that starts it, so a change may come between the two. */
const VERSIONS_TRIED = 3;

/** Custom data of the webhook, the newest first. It may be removed since, so its stream is read. */
async function customDataUntil(
  { eventStore }: Pick<Application, 'eventStore'>,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  position: Position,
  cancellation: Cancellation,
): Promise<readonly CustomData[]> {
  let versions: readonly CustomData[] = [];
  for await (const page of streamPages(eventStore, webhooksStream(tenant), { cancellation })) {
    for (const event of page) {
      if (event.position > position) return versions;
      const { type, data } = { type: event.type, data: event.data } as WebhookEvent;
      if (data.id !== id || (type !== 'WebhookCreated' && type !== 'WebhookChanged')) continue;
      if (data.customData !== undefined) versions = [data.customData, ...versions].slice(0, VERSIONS_TRIED);
    }
  }
  return versions;
}
