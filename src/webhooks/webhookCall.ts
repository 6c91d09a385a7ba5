/** The call that an attempt makes: the body from the log, and its headers. */
import type { Commands } from '../commands/context.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { PAYLOAD_VERSIONS } from '../domain/webhook/catalogue/catalogue.js';
import type { LoadedDelivery } from './deliveryLog.js';
import type { WebhookCall } from './httpsTransport.js';
import { payloadOf } from './payload.js';
import { signatureHeaders } from './signature.js';

export type Target = { readonly tenant: Tenant; readonly webhook: Webhook };

/**
 * Signed anew at each attempt, with the secrets of now and the time of now.
 * @param version of the service, for `User-Agent`
 * @throws ReadModelsUnavailableError, EventStoreUnavailableError: the body cannot be made now
 */
export async function webhookCall(
  commands: Commands,
  { tenant, webhook }: Target,
  { delivery, deliveryId }: LoadedDelivery,
  version: string,
): Promise<WebhookCall> {
  const { subject } = delivery;
  const body = await payloadOf(commands, tenant, webhook, subject);
  const { sealedSecret, stagedSecret } = webhook;
  const primary = commands.secretBox.open(sealedSecret);
  const signed = signatureHeaders({
    body,
    messageId: subject.messageId ?? deliveryId,
    timestamp: Math.floor(Date.parse(commands.now()) / 1000),
    secrets: stagedSecret === undefined ? [primary] : [primary, commands.secretBox.open(stagedSecret)],
  });
  const headers = {
    'Content-Type': 'application/json',
    'User-Agent': `dynamic-assets/${version}`,
    ...signed,
    'webhook-event': subject.kind,
    'webhook-event-version': PAYLOAD_VERSIONS[subject.kind],
    'webhook-sequence': String(subject.sourceRevision),
    ...(subject.purpose === undefined ? {} : { 'webhook-replay': subject.purpose }),
  };
  return { url: webhook.url, headers, body };
}
