/** Resends, backfills and test events of a webhook. They are requested here; a process with the role `webhooks` makes them. */
import { validate } from 'uuid';
import { z } from 'zod';
import { dateTime } from '../../domain/assetTypes/valueSchemas.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import type { DeliverySubject } from '../../domain/webhook/events.js';
import { parseBody } from '../body.js';
import { type Caller, NotFoundError, ValidationError } from '../context.js';
import { type DirectoryCommands, writeWebhook } from '../identity/directoryWriter.js';
import { type LoadedDelivery, loadDelivery, requestDelivery } from './deliveryStream.js';
import { eventKind, eventKinds } from './settings.js';

/** Events that happened from `from` up to now; `failed_only`: those that were delivered neither then nor since. */
export const backfillBody = z.strictObject({
  from: dateTime,
  events: eventKinds.optional(),
  failed_only: z.boolean('must be true or false.').default(false),
});

export const testEventBody = z.strictObject({ event: eventKind });

/** Sends the same event to the same webhook again, however the delivery ended. */
export async function resendDelivery(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
): Promise<LoadedDelivery> {
  await checkWebhook(commands, caller, webhookId);
  const id = deliveryId.toLowerCase();
  const sent = validate(id) ? await subjectOf(commands, caller.tenant, id) : undefined;
  if (sent?.webhookId !== webhookId) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
  return requestNew(commands, caller, resent(id, sent));
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
    const kinds = WEBHOOK_EVENT_KINDS.filter((each) => (wanted ?? events).includes(each));
    return [
      { type: 'WebhookBackfillRequested', data: { id, backfillId, kinds, from, ...(failedOnly && { failedOnly }) } },
    ];
  });
  return backfillId;
}

/** Sends an event of this kind that is about nothing, whether the webhook subscribes to it or not. */
export async function sendTestEvent(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  body: unknown,
): Promise<LoadedDelivery> {
  const { event } = parseBody(testEventBody, body);
  await checkWebhook(commands, caller, webhookId);
  const noSource = { orderId: '', sourceEventId: '', sourceRevision: 0 };
  return requestNew(commands, caller, { webhookId, kind: event, ...noSource, purpose: 'test' });
}

/** Asks the log, since the directory of this process may not know the webhook yet. @throws NotFoundError */
const checkWebhook = (commands: DirectoryCommands, caller: Caller, id: string): Promise<unknown> =>
  writeWebhook(commands, caller, id, () => []);

/** The same event with the same `webhook-id`, so that a receiver that has it already can tell. */
function resent(deliveryId: string, { after: _, ...sent }: DeliverySubject): DeliverySubject {
  return { ...sent, purpose: sent.purpose === 'test' ? 'test' : 'resend', messageId: sent.messageId ?? deliveryId };
}

const subjectOf = async (
  { eventStore }: DirectoryCommands,
  tenant: string,
  deliveryId: string,
): Promise<DeliverySubject | undefined> => (await loadDelivery(eventStore, { tenant, deliveryId }))?.delivery.subject;

async function requestNew(
  commands: DirectoryCommands,
  caller: Caller,
  subject: DeliverySubject,
): Promise<LoadedDelivery> {
  const deliveryId = commands.newId();
  const requested = await requestDelivery(commands, caller, deliveryId, subject);
  if (requested === undefined) throw new Error(`The new id ${deliveryId} was taken.`);
  return requested;
}
