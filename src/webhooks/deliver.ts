/**
 * The story of a delivery, from top to bottom: a message says that a delivery is due, the gate lets it in, the delivery's
 * stream says what is next, the attempt is made in a slot, and its outcome is appended; until the stream says to wait or that
 * it is over.
 *
 * Only the stream decides. What the gate has in memory may be lost at any time.
 */
import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Application } from '../commands/application.js';
import { writeOrder } from '../commands/orders/orderStream.js';
import { type LoadedDelivery, loadDelivery, writeDelivery } from '../commands/webhooks/deliveryStream.js';
import { disableWebhook } from '../commands/webhooks/settings.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { AnswerTooLargeError } from '../domain/jsonSize.js';
import { endExport } from '../domain/order/decide.js';
import type { Order } from '../domain/order/order.js';
import {
  type AttemptResult,
  backoffAfter,
  CUT_OFF,
  decideOutcome,
  failDelivery,
  MAX_DELIVERY_ATTEMPTS,
  nextStep,
  startAttempt,
} from '../domain/webhook/delivery.js';
import type { DeliverySubject, DisabledCause } from '../domain/webhook/events.js';
import { EventStoreUnavailableError } from '../ports/eventStore.js';
import type { Outcome, ReceivedMessage } from '../ports/messageBroker.js';
import { RowsUnavailableError } from '../ports/rowStore.js';
import { failSpan, startSpan } from '../ports/tracing.js';
import { doubled, retry } from '../supervision/keepRunning.js';
import type { DeliveryMetrics } from './deliveryMetrics.js';
import type { Gate, Pass } from './gate.js';
import type { WebhookTransport } from './httpsTransport.js';
import { type DeliveryJob, DONE, deliveryJob, retryIn } from './queue.js';
import { makeBody, sha256Of, signedRequest } from './webhookRequest.js';

/** Everything that a delivery needs. */
export type DeliveryParts = {
  readonly commands: Application;
  readonly transport: WebhookTransport;
  readonly logger: Logger;
  readonly metrics?: DeliveryMetrics;
  readonly tracer?: Tracer | undefined;
  readonly settings: {
    /** Between attempts (ms); the last one repeats. */
    readonly backoffMs: readonly number[];
    /** See `nextStep`. */
    readonly attemptLimitMs: number;
    /** Of the service, for the `User-Agent` header. */
    readonly version: string;
  };
  readonly gate: Gate;
};

/** How long appending an attempt's outcome is retried while the log is away. After that the attempt counts as cut off. */
const OUTAGE_MS = 6_000;
const OUTAGE_BACKOFF = { firstMs: 1_000, longestMs: 1_000 };

/** Waits after a fault of the service itself. */
const FAULT_MS = { first: 1_000, longest: 60_000 };
/** Waits for the delivery before this one. */
const TURN_MS = { shortest: 50, longest: 15_000 };
/** How long that may lack its request, as when the webhook's kinds of event were changed meanwhile. */
const UNREQUESTED_MS = 3_600_000;
/** A delivery is redelivered this long after the one before it is due. */
const AFTER_PREVIOUS_MS = 5;

/** Handles the message that a delivery is due. @returns what the broker does with the message */
export async function deliver(parts: DeliveryParts, { body, redeliveries }: ReceivedMessage): Promise<Outcome> {
  const { commands, gate, logger } = parts;
  const { success, data: job } = deliveryJob.safeParse(body);
  if (!success) {
    logger.error({ body }, 'a webhook job names no delivery');
    return DONE;
  }
  if (commands.directory.wasDeleted(job.tenant)) return DONE;
  const faultMs = doubled(FAULT_MS.first, FAULT_MS.longest, redeliveries);
  const { disabled, heldAfter = 0 } = targetOf(commands, job)?.webhook ?? {};
  // This process has not heard yet that it was enabled.
  if (disabled !== undefined && heldAfter < (job.enabledAt ?? 0)) return retryIn(faultMs);
  // The operator who enables it expects attempts.
  if (disabled !== undefined) gate.close(job);
  const pass = gate.enter(job, job.deliveryId, redeliveries);
  if (typeof pass === 'number') return retryIn(pass);
  try {
    return await proceed(parts, job, pass, redeliveries);
  } catch (error) {
    // The tenant was deleted meanwhile, with its rows.
    if (commands.directory.wasDeleted(job.tenant)) return DONE;
    // A fault of the service (the log cannot be reached), not of the receiver. The stream says how far the delivery had
    // come.
    logger.error({ err: error, ...job, delayMs: faultMs }, 'webhook delivery is put off');
    return retryIn(faultMs);
  } finally {
    pass.leave();
  }
}

/** The delivery as it is now, and what becomes of its message, if that can end or has to wait. */
type Step = { readonly loaded: LoadedDelivery; readonly outcome?: Outcome };

/** One step after the other, as the stream says. */
async function proceed(parts: DeliveryParts, job: DeliveryJob, pass: Pass, redeliveries: number): Promise<Outcome> {
  const { commands, settings, logger } = parts;
  let loaded = await loadDelivery(commands.eventStore, job);
  // A relay that reads the log once more may be about to request it.
  if (loaded === undefined && redeliveries === 0) return retryIn(FAULT_MS.first);
  if (loaded === undefined) {
    logger.error(job, 'the log has no such webhook delivery');
    return DONE;
  }
  for (;;) {
    // The tenant may have been deleted since the message came.
    if (commands.directory.wasDeleted(job.tenant)) return DONE;
    const step = nextStep(loaded.delivery, commands.now(), settings.attemptLimitMs);
    switch (step.kind) {
      case 'over':
        // Repeated at each message, since a crash may have come between the success and this step.
        await deliverExportOf(commands, loaded);
        return DONE;
      case 'wait':
        return retryIn(step.delayMs);
      case 'cut-off':
        loaded = await appendOutcome(parts, loaded, CUT_OFF);
        break;
      case 'exhausted':
        return giveUp(parts, loaded);
      case 'attempt': {
        const made: Step = await attempt(parts, loaded, pass);
        if (made.outcome !== undefined) return made.outcome;
        loaded = made.loaded;
      }
    }
  }
}

type Target = { readonly tenant: Tenant; readonly webhook: Webhook };

function targetOf(
  { directory }: Application,
  { tenant: name, webhookId }: Pick<DeliveryJob, 'tenant' | 'webhookId'>,
): Target | undefined {
  const tenant = directory.tenant(name);
  const webhook = tenant?.webhooks.get(webhookId);
  return tenant && webhook && { tenant, webhook };
}

const endpointOf = ({ tenant, delivery }: LoadedDelivery) => ({ tenant, webhookId: delivery.subject.webhookId });

/** Waits for the delivery's turn in its order, and for a slot. */
async function attempt(parts: DeliveryParts, loaded: LoadedDelivery, pass: Pass): Promise<Step> {
  // If the directory lagged behind the relay's, a new webhook would look like a removed one.
  await parts.commands.directory.waitFor(loaded.requestedAt);
  const waitMs = await turnMs(parts, loaded);
  if (waitMs > 0) return { loaded, outcome: retryIn(waitMs) };
  const slotMs = await pass.slot();
  if (slotMs !== undefined) return { loaded, outcome: retryIn(slotMs) };
  try {
    return await inSlot(parts, loaded, pass);
  } finally {
    pass.end();
  }
}

/** How long to wait for the delivery that has to be over first (ms); 0 if it is, or is not to be made. */
async function turnMs({ commands, gate }: DeliveryParts, loaded: LoadedDelivery): Promise<number> {
  const { after, purpose } = loaded.delivery.subject;
  const target = targetOf(commands, endpointOf(loaded));
  if (after === undefined || target === undefined || target.webhook.disabled !== undefined) return 0;
  await gate.left(after);
  const first = await loadDelivery(commands.eventStore, { tenant: loaded.tenant, deliveryId: after });
  const now = Date.parse(commands.now());
  // The longer nothing has happened to it, the less often it is checked.
  const idleMs = now - Date.parse((first ?? loaded).lastEventAt);
  // A job over a range of the log is about to request it. One that a backfill left out never comes.
  if (first === undefined && (purpose !== undefined || idleMs > UNREQUESTED_MS)) return 0;
  if (first !== undefined && first.delivery.outcome !== 'open') return 0;
  const retryAt = first?.delivery.retryAt;
  const dueMs = retryAt === undefined ? 0 : Date.parse(retryAt) - now + AFTER_PREVIOUS_MS;
  return Math.min(TURN_MS.longest, Math.max(TURN_MS.shortest, dueMs, idleMs / 2));
}

/** The webhook as it is now, the attempt, and its outcome, for which the slot is free again. */
async function inSlot(parts: DeliveryParts, loaded: LoadedDelivery, pass: Pass): Promise<Step> {
  const { commands, gate, metrics, logger } = parts;
  const endpoint = endpointOf(loaded);
  const target = targetOf(commands, endpoint);
  // It waits in the log, without a message: enabling the webhook publishes one for each open delivery.
  if (target === undefined || target.webhook.disabled !== undefined) {
    gate.close(endpoint);
    if (target === undefined)
      await writeDelivery(commands, loaded, (current) => failDelivery(current, 'webhook removed'));
    return { loaded, outcome: DONE };
  }
  const { url } = target.webhook;
  const number = loaded.delivery.started + 1;
  const { bodySha256, post } = await prepare(parts, target, loaded);
  // Appended before the attempt, so that a crash hides none. Without this append there is no attempt.
  const start = await writeDelivery(commands, loaded, (current) => startAttempt(current, number, { url, bodySha256 }));
  // Another process made the attempt, or is making it.
  if (!start.appended) return { loaded: start.written };
  const result = await traceAttempt(parts.tracer, loaded, target.webhook, post);
  metrics?.attempted(endpoint, result);
  pass.end(result);
  const written = await appendOutcome(parts, start.written, result);
  const { ok, status, durationMs } = result;
  const { deliveryId, delivery } = loaded;
  // The URL's path and query may hold secrets of the receiver.
  const { host } = new URL(url);
  const { orderId } = delivery.subject;
  const about = { ...endpoint, deliveryId, orderId, attempt: number, host, ok, status, durationMs };
  logger[ok ? 'info' : 'warn']({ ...about, reason: ok ? undefined : result.reason }, 'webhook attempt');
  if (!ok) await disableIfLost(parts, written, url, result);
  return { loaded: written };
}

const GONE = 410;
/** A receiver may be away over a long weekend. */
const DISABLE_AFTER_MS = 5 * 24 * 3_600_000;
const CATCH_UP_MS = 2_000;

/**
 * Disables a webhook that is gone (410) or has failed for too long. Nothing is lost: its deliveries wait. An export has its
 * five attempts first (spec §6.4).
 * @param url of the attempt that failed
 */
export async function disableIfLost(
  { commands, logger }: Pick<DeliveryParts, 'commands' | 'logger'>,
  { tenant, delivery, position, caller }: LoadedDelivery,
  url: string,
  { status }: AttemptResult,
): Promise<void> {
  const { webhookId } = delivery.subject;
  const webhook = targetOf(commands, { tenant, webhookId })?.webhook;
  // If the URL has changed meanwhile, attempts at the new one are wanted.
  if (delivery.started < MAX_DELIVERY_ATTEMPTS || webhook?.disabled !== undefined || webhook?.url !== url) return;
  const disable = async (cause: DisabledCause, reason: string): Promise<void> => {
    await disableWebhook(commands, caller, webhookId, { cause, reason });
    logger.warn({ tenant, webhookId, cause, reason }, 'webhook is disabled');
  };
  if (status === GONE) return disable('gone', 'The receiver answered 410 Gone.');
  // A delivery log that is behind, or cannot be read now, may not show the last success.
  const failingSince = await commands.progress
    .waitFor(tenant, position, CATCH_UP_MS)
    .then((isShown) => (isShown ? commands.queries.deliveries.failingSince(tenant, webhookId) : undefined))
    .catch((error: unknown) => {
      if (error instanceof RowsUnavailableError) return undefined;
      throw error;
    });
  const latest = Date.parse(commands.now()) - DISABLE_AFTER_MS;
  // Changing or enabling a webhook gives it the full time again.
  if (failingSince !== undefined && Date.parse(failingSince) <= latest && Date.parse(webhook.startedAt) <= latest)
    await disable('failing', `No attempt has succeeded since ${failingSince}.`);
}

type Prepared = {
  /** Kept with the attempt, so that a body made again can be proved to be the one that was sent. */
  readonly bodySha256?: string;
  readonly post: () => Promise<AttemptResult>;
};

/** If the body would be too large, the attempt fails with that reason, without a call, and has no hash. */
async function prepare(
  { commands, transport, settings }: DeliveryParts,
  { tenant, webhook }: Target,
  loaded: LoadedDelivery,
): Promise<Prepared> {
  try {
    const body = await makeBody(commands, tenant, webhook, loaded.delivery.subject);
    const request = signedRequest(commands, webhook, loaded, body, settings.version);
    return { bodySha256: sha256Of(body), post: () => transport.post(request) };
  } catch (error) {
    if (!(error instanceof AnswerTooLargeError)) throw error;
    const { message: reason } = error;
    const failed = { ok: false, reason, status: null, durationMs: 0, responseBody: null } as const;
    return { post: async () => failed };
  }
}

/**
 * Makes an attempt within a span of its own. The receiver gets no trace context: it belongs to another company, and its
 * messages have ids of their own.
 */
async function traceAttempt(
  tracer: Tracer | undefined,
  { caller, deliveryId, delivery }: LoadedDelivery,
  { id, url }: Webhook,
  post: () => Promise<AttemptResult>,
): Promise<AttemptResult> {
  const { traceparent } = caller;
  if (tracer === undefined || traceparent === undefined) return post();
  const span = startSpan(tracer, traceparent, 'webhook attempt', { kind: SpanKind.CLIENT });
  const result = await post();
  const { ok, status } = result;
  span.setAttributes({
    'http.request.method': 'POST',
    'http.response.status_code': status ?? undefined,
    // Not the URL's path and query, which may hold secrets of the receiver.
    'server.address': new URL(url).hostname,
    'dynamic_assets.webhook.id': id,
    'dynamic_assets.delivery.id': deliveryId,
    'dynamic_assets.attempt': delivery.started + 1,
  });
  if (!ok) failSpan(span, status === null ? (result.cause ?? 'no answer') : String(status));
  span.end();
  return result;
}

/**
 * Appends the outcome of the attempt in flight. Retries while the log is away: the receiver's answer must not be lost.
 */
async function appendOutcome(
  { commands, settings }: DeliveryParts,
  loaded: LoadedDelivery,
  result: AttemptResult,
): Promise<LoadedDelivery> {
  const { started: number } = loaded.delivery;
  const backoffMs = backoffAfter(loaded.delivery, result, settings.backoffMs, Math.random());
  const retryAt = new Date(Date.parse(commands.now()) + backoffMs).toISOString();
  const append = () => writeDelivery(commands, loaded, (current) => decideOutcome(current, number, result, retryAt));
  const { written } = await retry(append, {
    until: Date.now() + OUTAGE_MS,
    backoff: OUTAGE_BACKOFF,
    isTransient: (error) => error instanceof EventStoreUnavailableError,
  });
  return written;
}

/**
 * No attempt is left (spec §6.4). The order is failed first, which may safely be repeated, and then the delivery. After
 * a crash in between, the message is redelivered, finds no attempt left, and gets here again.
 */
async function giveUp({ commands, logger, metrics }: DeliveryParts, loaded: LoadedDelivery): Promise<Outcome> {
  const { delivery, deliveryId, tenant } = loaded;
  const { orderId, webhookId } = delivery.subject;
  const webhook = targetOf(commands, { tenant, webhookId })?.webhook;
  const reason = `All ${delivery.started} attempts to deliver to webhook ${webhook?.name ?? webhookId} failed.`;
  const disabled = webhook?.disabled === undefined ? [] : [`The webhook is disabled: ${webhook.disabled.reason}`];
  const reasons = [reason, ...delivery.failures, ...disabled];
  // Only an export that was due fails its order: not other kinds of event, and not resends.
  if (isDueExport(delivery.subject)) {
    const { sourceEventId: approval } = delivery.subject;
    const fail = (order: Order) => () => endExport(order, approval, { webhookId, deliveryId }, reasons);
    await writeOrder(commands, loaded.caller, orderId, fail);
  }
  const lastReason = delivery.failures.at(-1) ?? reason;
  const { appended } = await writeDelivery(commands, loaded, (current) => failDelivery(current, lastReason));
  if (!appended) return DONE;
  logger.warn({ tenant, deliveryId, orderId, webhookId, reasons }, 'webhook delivery failed for good');
  metrics?.failedForGood({ tenant, webhookId });
  return DONE;
}

// What a delivery's end means to its order. It does nothing when the status has changed since that approval, so it may be
// repeated after a crash.

/** The delivery is of an approval, and nobody asked for it. */
const isDueExport = ({ kind, purpose }: DeliverySubject): boolean => kind === 'order.approved' && purpose === undefined;

/** An export that had failed for good may have been delivered by a resend. */
async function deliverExportOf(
  commands: Application,
  { delivery: { subject, outcome }, deliveryId, caller }: LoadedDelivery,
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approval } = subject;
  const isResent = purpose === 'resend' || purpose === 'backfill';
  if (kind !== 'order.approved' || !isResent || outcome !== 'succeeded') return;
  await writeOrder(commands, caller, orderId, (order) => () => endExport(order, approval, { webhookId, deliveryId }));
}
