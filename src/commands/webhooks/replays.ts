/**
 * Resends, backfills and test events of a webhook. Each is a new delivery with a purpose, and none changes an order. It is
 * requested here; a process with the role `webhooks` makes it.
 */

import { validate } from 'uuid';
import { z } from 'zod';
import { zonedDateTime } from '../../domain/assetTypes/valueSchemas.js';
import { WEBHOOK_EVENT_KINDS } from '../../domain/webhook/catalogue.js';
import type { DeliverySubject } from '../../domain/webhook/events.js';
import type { Position } from '../../ports/eventStore.js';
import type { DeliveryLogEntry, DeliveryQuery } from '../../queries/deliveries.js';
import type { Queries } from '../../queries/queries.js';
import { parseBody } from '../body.js';
import { untilTenantIsShown } from '../catchUp.js';
import { type Caller, type Commands, NotFoundError, ValidationError } from '../context.js';
import { type DirectoryCommands, writeWebhook } from '../identity/directoryWriter.js';
import { resendId } from './deliveryIds.js';
import { loadDelivery, type RequestedDelivery, requestDelivery } from './deliveryStream.js';
import { eventKind, eventKinds } from './settings.js';

/** Deliveries that were requested from `since` on and before `until`, or up to now. */
export const resendFailedBody = z.strictObject({ since: zonedDateTime, until: zonedDateTime.optional() });

/** Events that happened from `from` on and before `to`, or up to now. */
export const backfillBody = z.strictObject({
  from: zonedDateTime,
  to: zonedDateTime.optional(),
  events: eventKinds.optional(),
});

export const testEventBody = z.strictObject({ event: eventKind });

/** Sends the same event to the same webhook again, however the delivery ended. */
export async function resendDelivery(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  deliveryId: string,
): Promise<RequestedDelivery> {
  await checkWebhook(commands, caller, webhookId);
  const id = deliveryId.toLowerCase();
  const sent = validate(id) ? await subjectOf(commands, caller.tenant, id) : undefined;
  if (sent?.webhookId !== webhookId) throw new NotFoundError(`There is no delivery ${deliveryId} to this webhook.`);
  const subject = resent(id, sent);
  // The first resend has the id that `resendFailed` would use, so that `resendFailed` leaves it out.
  const first = await requestDelivery(commands, caller, resendId(webhookId, id), subject);
  return first ?? requestNew(commands, caller, subject);
}

const PAGE = 200;

/**
 * Resends every delivery that failed for good, unless it was resent, or is of an order and arrived since, or its
 * order was approved again; those of one order one after the other.
 * @param body `{ since, until? }`
 * @param isDryRun only counts
 * @returns how many deliveries were requested
 * @throws ValidationError, NotFoundError; TryAgainError when the delivery log is behind
 */
export async function resendFailed(
  commands: DirectoryCommands & Pick<Commands, 'progress' | 'queries'>,
  caller: Caller,
  webhookId: string,
  body: unknown,
  isDryRun = false,
): Promise<{ readonly count: number }> {
  const input = parseBody(resendFailedBody, body);
  const { from: since, to: until } = pastRange(commands.now(), ['since', input.since], ['until', input.until]);
  await checkWebhook(commands, caller, webhookId);
  const { eventStore, queries } = commands;
  const { tenant } = caller;
  const head = await eventStore.head();
  await untilTenantIsShown(commands, caller);
  /** By order, the last delivery of it so far. */
  const sequence = new Map<string, string>();
  const isRequested = async ({ id, orderId }: DeliveryLogEntry): Promise<boolean> => {
    const deliveryId = resendId(webhookId, id);
    if (isDryRun) return (await loadDelivery(eventStore, { tenant, deliveryId })) === undefined;
    const after = orderId === undefined ? undefined : sequence.get(orderId);
    if (orderId !== undefined) sequence.set(orderId, deliveryId);
    const sent = await subjectOf(commands, tenant, id);
    if (sent === undefined) return false;
    const subject = { ...resent(id, sent), ...(after === undefined ? {} : { after }) };
    return (await requestDelivery(commands, caller, deliveryId, subject)) !== undefined;
  };
  const query = { webhookId, state: 'failed', since, until, order: 'oldest' } as const;
  let count = 0;
  for await (const page of pagesOf(queries.deliveries, tenant, query)) {
    const failed = page.filter(({ purpose, position }) => purpose !== 'test' && position <= head);
    const areOver = await Promise.all(failed.map((entry) => isSuperseded(queries.deliveries, tenant, entry)));
    const due = failed.filter((_, index) => !areOver[index]);
    count += (await Promise.all(due.map(isRequested))).filter(Boolean).length;
    if (page.some(({ position }) => position > head)) break;
  }
  return { count };
}

/** Pages of at least one delivery. */
async function* pagesOf(
  log: Queries['deliveries'],
  tenant: string,
  query: Omit<DeliveryQuery, 'limit'>,
): AsyncGenerator<readonly DeliveryLogEntry[], void, void> {
  for (let after = query.after; ; ) {
    const page = await log.page(tenant, { ...query, limit: PAGE, ...(after !== undefined && { after }) });
    if (page.length > 0) yield page;
    if (page.length < PAGE) return;
    after = page.at(-1)?.position;
  }
}

/** Whether the event has arrived by another delivery, or a later approval of the order exports it as it is now. */
async function isSuperseded(log: Queries['deliveries'], tenant: string, failed: DeliveryLogEntry): Promise<boolean> {
  const { webhookId, orderId, kind, messageId, sequence } = failed;
  // An event of a table that was backfilled meanwhile is sent once more, under its id.
  if (orderId === undefined) return false;
  const isOver = (each: DeliveryLogEntry): boolean =>
    (each.state === 'succeeded' && each.messageId === messageId) ||
    (kind === 'order.approved' && each.sequence > sequence);
  for await (const page of pagesOf(log, tenant, { webhookId, orderId, kind })) if (page.some(isOver)) return true;
  return false;
}

/**
 * Sends a range of the log to a webhook, which may be younger than it. Runs in the background.
 * @param body `{ from, to?, events? }`; `events` are by default what the webhook subscribes to
 * @throws ValidationError, NotFoundError
 */
export async function requestBackfill(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  body: unknown,
): Promise<{ readonly position: Position; readonly backfillId: string }> {
  const input = parseBody(backfillBody, body);
  const range = pastRange(commands.now(), ['from', input.from], ['to', input.to]);
  const backfillId = commands.newId();
  const { position } = await writeWebhook(commands, caller, webhookId, ({ id, events }) => {
    const kinds = WEBHOOK_EVENT_KINDS.filter((each) => (input.events ?? events).includes(each));
    return [{ type: 'WebhookBackfillRequested', data: { id, backfillId, kinds, ...range } }];
  });
  return { position, backfillId };
}

/** Sends the example of a kind of event, whether the webhook subscribes to it or not. */
export async function sendTestEvent(
  commands: DirectoryCommands,
  caller: Caller,
  webhookId: string,
  body: unknown,
): Promise<RequestedDelivery> {
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
): Promise<RequestedDelivery> {
  const deliveryId = commands.newId();
  const requested = await requestDelivery(commands, caller, deliveryId, subject);
  if (requested === undefined) throw new Error(`The new id ${deliveryId} was taken.`);
  return requested;
}

type Bound<T> = readonly [field: string, time: T];

/**
 * A range of past time. Times are UTC with six digits, as in the log, and compare as text.
 * @throws ValidationError for a range that is empty or ends in the future
 */
function pastRange(
  now: string,
  [fromField, from]: Bound<string>,
  [toField, to]: Bound<string | undefined>,
): { readonly from: string; readonly to?: string } {
  const end = to ?? now;
  if (end > now) throw new ValidationError({ [toField]: [`The ${toField} field must not be in the future.`] });
  if (from >= end) {
    const message = `The ${fromField} field must be before ${toField}, which is ${end}.`;
    throw new ValidationError({ [fromField]: [message] });
  }
  return { from, ...(to === undefined ? {} : { to }) };
}
