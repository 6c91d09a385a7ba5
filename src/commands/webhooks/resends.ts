/** Resends, backfills and test events of a webhook. They are requested here; a process with the role `webhooks` makes them. */
import { validate } from 'uuid';
import { z } from 'zod';
import type { DeliverySubject } from '../../domain/webhook/events.js';
import { dateTime, parseBody, truth } from '../body.js';
import { type Caller, NotFoundError, ValidationError } from '../context.js';
import { type DirectoryCommands, writeWebhook } from '../identity/directoryWriter.js';
import { loadDelivery, requestDelivery } from './deliveryStream.js';
import { eventKind, eventKinds, inOrder } from './settings.js';

/** Events that happened from `from` up to now; `failed_only`: those that were delivered neither then nor since. */
export const backfillBody = z.strictObject({
  from: dateTime,
  events: eventKinds.optional(),
  failed_only: truth.default(false),
});

export const testEventBody = z.strictObject({ event: eventKind });

/**
 * Sends the same event to the same webhook again, however the delivery ended, with the same `webhook-id`, so that a receiver
 * that has it already can tell. @returns the new delivery's id @throws NotFoundError
 */
export async function resendDelivery(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
): Promise<string> {
  const sent = await deliveryTo(commands, caller, webhookId, deliveryId);
  const { after: _, ...subject } = sent.delivery.subject;
  const purpose = subject.purpose === 'test' ? 'test' : 'resend';
  return request(commands, caller, { ...subject, purpose, messageId: subject.messageId ?? sent.deliveryId });
}

/** The delivery as the log has it. @throws NotFoundError */
export async function deliveryTo({ eventStore }: DirectoryCommands, { tenant }: Caller, webhookId: string, id: string) {
  const deliveryId = id.toLowerCase();
  const loaded = validate(deliveryId) ? await loadDelivery(eventStore, { tenant, deliveryId }) : undefined;
  if (loaded?.delivery.subject.webhookId === webhookId) return loaded;
  throw new NotFoundError(`There is no delivery ${id} to this webhook.`);
}

/**
 * Sends events of the past to a webhook, which may be younger than they. Runs in the background.
 * @param body `{ from, events?, failed_only? }`; `events` are by default what the webhook subscribes to
 * @returns the id of the backfill @throws ValidationError, NotFoundError
 */
export async function requestBackfill(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  body: unknown,
): Promise<string> {
  const { from, events: wanted, failed_only: failedOnly } = parseBody(backfillBody, body);
  if (from >= commands.now()) throw new ValidationError({ from: ['The from field must be in the past.'] });
  const backfillId = commands.newId();
  await writeWebhook(commands, caller, webhookId, ({ id, events }) => {
    const data = { id, backfillId, kinds: inOrder(wanted ?? events), from, ...(failedOnly && { failedOnly }) };
    return [{ type: 'WebhookBackfillRequested', data }];
  });
  return backfillId;
}

/** Sends an example of this kind of event, whether the webhook subscribes to it or not. */
export function sendTestEvent(commands: DirectoryCommands, caller: Caller, webhookId: string, body: unknown) {
  const { event: kind } = parseBody(testEventBody, body);
  const noSource = { orderId: '', sourceEventId: '', sourceRevision: 0 };
  return request(commands, caller, { webhookId, kind, ...noSource, purpose: 'test' });
}

async function request(commands: DirectoryCommands, caller: Caller, subject: DeliverySubject): Promise<string> {
  // Asks the log: the directory of this process may not know the webhook yet.
  await writeWebhook(commands, caller, subject.webhookId, () => []);
  const deliveryId = commands.newId();
  await requestDelivery(commands, caller, deliveryId, subject);
  return deliveryId;
}
