/** The body that an attempt of a delivery sent, made again from the log. */
import type { Application } from '../commands/application.js';
import { streamPages } from '../commands/streamPages.js';
import { type DeliveryKey, deliveryEvents } from '../commands/webhooks/deliveryStream.js';
import type { Tenant } from '../domain/identity/directory.js';
import { webhooksStream } from '../domain/streams.js';
import type { CustomData, DeliveryEvent, DeliverySubject, WebhookEvent } from '../domain/webhook/events.js';
import type { Position } from '../ports/eventStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { makeBody, sha256Of } from './webhookRequest.js';

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
    const customData = await customDataAt(commands, webhook, position, cancellation);
    if (customData === undefined) return undefined;
    const body = await makeBody(commands, tenant, { customData }, subject);
    const { url, bodySha256: sentSha256 } = event.data;
    return { startedAt: metadata.occurredAt, url, sentSha256, body, madeSha256: sha256Of(body) };
  }
  return undefined;
}

/** Custom data of the webhook. It may be removed since, so its stream is read. */
async function customDataAt(
  { eventStore }: Pick<Application, 'eventStore'>,
  { tenant, id }: { readonly tenant: string; readonly id: string },
  position: Position,
  cancellation: Cancellation,
): Promise<CustomData | undefined> {
  let customData: CustomData | undefined;
  for await (const page of streamPages(eventStore, webhooksStream(tenant), { cancellation })) {
    for (const event of page) {
      if (event.position > position) return customData;
      const { type, data } = { type: event.type, data: event.data } as WebhookEvent;
      if (data.id === id && (type === 'WebhookCreated' || type === 'WebhookChanged'))
        customData = data.customData ?? customData;
    }
  }
  return customData;
}
