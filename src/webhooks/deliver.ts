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
import type { TenantDirectory } from '../commands/context.js';
import { writeOrder } from '../commands/orders/orderWriter.js';
import { type LoadedDelivery, loadDelivery, writeDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { deliverExport, disabledWarning, failExport, holdExport } from '../domain/order/approval.js';
import { OrderDocumentTooLargeError } from '../domain/order/exportDocument.js';
import {
  type AttemptResult,
  backoffAfter,
  CUT_OFF,
  type DeliveryTiming,
  decideOutcome,
  doubled,
  failDelivery,
  nextStep,
  startAttempt,
} from '../domain/webhook/delivery.js';
import type { DeliverySubject } from '../domain/webhook/events.js';
import { EventStoreUnavailableError } from '../ports/eventStore.js';
import type { MessageBroker, Outcome, ReceivedMessage } from '../ports/messageBroker.js';
import { continueTrace, failSpan } from '../ports/tracing.js';
import { AnswerTooLargeError } from '../queries/storedRecord.js';
import { retry } from '../supervision/keepRunning.js';
import type { DeliveryMetrics } from './deliveryMetrics.js';
import { requestBefore } from './deliveryRequests.js';
import type { Endpoint, Gate } from './gate.js';
import type { WebhookTransport } from './httpsTransport.js';
import { DELIVERY_QUEUE, type DeliveryJob, deliveryJob } from './queue.js';
import type { ReceiverHealth } from './receiverHealth.js';
import { type Payloads, sha256Of, signedRequest } from './webhookRequest.js';

/** Everything that a delivery needs. */
export type DeliveryParts = {
  readonly commands: Application;
  readonly broker: Pick<MessageBroker, 'publish'>;
  readonly payloads: Payloads;
  readonly transport: WebhookTransport;
  readonly logger: Logger;
  readonly metrics?: DeliveryMetrics;
  readonly tracer?: Tracer | undefined;
  /** `version` is the service's, for the `User-Agent` header. */
  readonly settings: DeliveryTiming & { readonly version: string };
  readonly gate: Gate;
  readonly health: ReceiverHealth;
};

/**
 * How long appending an attempt's outcome is retried while the log is away. After that the attempt counts as cut off.
 */
const OUTAGE_MS = 6_000;
const OUTAGE_BACKOFF = { firstMs: 1_000, longestMs: 1_000 };

/** Waits after a fault of the service itself. */
const FAULT_MS = { first: 1_000, longest: 60_000 };
/** Waits for the delivery before this one. */
const TURN_MS = { shortest: 50, longest: 15_000 };
/** A delivery is redelivered this long after the one before it is due. */
const AFTER_PREVIOUS_MS = 5;
/** Clocks of processes differ. */
const CLOCK_TOLERANCE_MS = 10_000;

const DONE: Outcome = { kind: 'done' };
const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });
const deadLetter = (reason: string): Outcome => ({ kind: 'dead', reason });

/** Handles the message that a delivery is due. @returns what the broker does with the message */
export async function deliver(parts: DeliveryParts, { body, redeliveries }: ReceivedMessage): Promise<Outcome> {
  const job = deliveryJob.safeParse(body);
  if (!job.success) return deadLetter('The message names no delivery.');
  const faultMs = doubled(FAULT_MS.first, FAULT_MS.longest, redeliveries);
  try {
    return await admit(parts, job.data, redeliveries, faultMs);
  } catch (error) {
    // A fault of the service (the log cannot be reached), not of the receiver. The stream says how far the delivery had
    // come.
    parts.logger.error({ err: error, ...job.data, delayMs: faultMs }, 'webhook delivery is put off');
    return retryIn(faultMs);
  }
}

async function admit(parts: DeliveryParts, job: DeliveryJob, redeliveries: number, faultMs: number): Promise<Outcome> {
  const { commands, gate } = parts;
  const { tenant, deliveryId } = job;
  if (commands.directory.wasDeleted(tenant)) return DONE;
  const load = () => loadDelivery(commands.eventStore, job);
  const missing = deadLetter(`There is no delivery ${deliveryId}.`);
  const webhookId = job.webhookId ?? (await load())?.delivery.subject.webhookId;
  if (webhookId === undefined) return missing;
  const endpoint: Endpoint = { tenant, webhookId };
  const { disabled, heldAfter = 0 } = commands.directory.tenant(tenant)?.webhooks.get(webhookId) ?? {};
  // This process has not heard yet that it was enabled.
  if (disabled !== undefined && heldAfter < (job.enabledAt ?? 0)) return retryIn(faultMs);
  // The operator who enables it expects attempts.
  if (disabled !== undefined) gate.close(endpoint);
  return gate.enter(endpoint, deliveryId, redeliveries, async () => {
    const loaded = await load();
    if (loaded === undefined) return missing;
    const isSecond = redeliveries === 0 && job.enabledAt !== undefined && hasOtherMessage(loaded, parts);
    return isSecond ? DONE : proceed(parts, loaded, endpoint);
  });
}

/**
 * Enabling a webhook publishes a message for each open delivery. One that waits between two attempts has its own message,
 * which ends only when the delivery is due while the webhook is disabled; it is asked as that message asks.
 */
const hasOtherMessage = ({ delivery }: LoadedDelivery, { commands, settings }: DeliveryParts): boolean => {
  const step = nextStep(delivery, commands.now(), settings);
  return delivery.retryAt !== undefined && step.kind === 'wait' && step.delayMs > CLOCK_TOLERANCE_MS;
};

/** One step after the other, as the stream says, until its message can end or has to wait. */
async function proceed(parts: DeliveryParts, first: LoadedDelivery, endpoint: Endpoint): Promise<Outcome> {
  for (let loaded = first; ; ) {
    const step = nextStep(loaded.delivery, parts.commands.now(), parts.settings);
    switch (step.kind) {
      case 'over':
        // Repeated at each message, since a crash may have come between the success and this step.
        await deliverExportOf(parts.commands, loaded);
        return DONE;
      case 'wait':
        return retryIn(step.delayMs);
      case 'cut-off':
        loaded = await appendOutcome(parts, loaded, CUT_OFF);
        break;
      case 'exhausted':
        return giveUp(parts, loaded);
      case 'attempt': {
        const made = await attempt(parts, loaded, endpoint);
        if ('kind' in made) return made;
        loaded = made;
      }
    }
  }
}

/** @returns the delivery after the attempt; the outcome of its message, if none was made */
async function attempt(
  parts: DeliveryParts,
  loaded: LoadedDelivery,
  endpoint: Endpoint,
): Promise<LoadedDelivery | Outcome> {
  const { commands, gate } = parts;
  const { after } = loaded.delivery.subject;
  // If the directory lagged behind the relay's, a new webhook would look like a removed one.
  await commands.directory.waitFor(loaded.requestedAt);
  const target = targetOf(commands.directory, loaded);
  const waitMs = target.kind === 'enabled' && after !== undefined ? await turnMs(parts, loaded, target, after) : 0;
  if (waitMs > 0) return retryIn(waitMs);
  const sent = await gate.inSlot(endpoint, (begun) => send(parts, loaded, begun));
  switch (sent.kind) {
    case 'attempted':
      return conclude(parts, sent, endpoint);
    case 'webhook-removed':
      gate.close(endpoint);
      await writeDelivery(commands, loaded, (current) => failDelivery(current, 'webhook removed'));
      return DONE;
    case 'webhook-disabled':
      // It waits in the log, without a message: enabling the webhook publishes one for each open delivery.
      gate.close(endpoint);
      await holdExportOf(commands, loaded, sent.webhook);
      return DONE;
    case 'outdated':
      return sent.current;
    default:
      return sent;
  }
}

/** How long to wait for the delivery that has to be over first (ms); 0 if it is, or is not to be made. */
async function turnMs(
  { commands, broker, gate }: DeliveryParts,
  loaded: LoadedDelivery,
  { webhook }: Target,
  after: string,
): Promise<number> {
  await gate.left(after);
  const first = await loadDelivery(commands.eventStore, { tenant: loaded.tenant, deliveryId: after });
  if (first === undefined) {
    const message = await requestBefore(commands, webhook, loaded);
    if (message !== undefined) await broker.publish(DELIVERY_QUEUE, [message]);
    return message === undefined ? 0 : TURN_MS.shortest;
  }
  if (first.delivery.outcome !== 'open') return 0;
  const now = Date.parse(commands.now());
  const { retryAt } = first.delivery;
  const dueMs = retryAt === undefined ? 0 : Date.parse(retryAt) - now + AFTER_PREVIOUS_MS;
  // The longer nothing has happened to it, the less often it is checked.
  const idleMs = now - Date.parse(first.lastEventAt);
  return Math.min(TURN_MS.longest, Math.max(TURN_MS.shortest, dueMs, idleMs / 2));
}

type Target = { readonly kind: 'enabled'; readonly tenant: Tenant; readonly webhook: Webhook };

type Unsendable =
  | { readonly kind: 'webhook-removed' }
  | { readonly kind: 'webhook-disabled'; readonly webhook: Webhook };

function targetOf(directory: TenantDirectory, { tenant: name, delivery }: LoadedDelivery): Target | Unsendable {
  const tenant = directory.tenant(name);
  const webhook = tenant?.webhooks.get(delivery.subject.webhookId);
  if (tenant === undefined || webhook === undefined) return { kind: 'webhook-removed' };
  return { kind: webhook.disabled === undefined ? 'enabled' : 'webhook-disabled', tenant, webhook };
}

type Attempted = {
  readonly kind: 'attempted';
  /** The delivery with this attempt in flight. */
  readonly started: LoadedDelivery;
  readonly url: string;
  readonly result: AttemptResult;
};

/** The delivery has changed since it was loaded: another process made the attempt, or is making it. */
type Outdated = { readonly kind: 'outdated'; readonly current: LoadedDelivery };

/** In the slot: the webhook as it is now, and the attempt. */
async function send(
  parts: DeliveryParts,
  loaded: LoadedDelivery,
  begun: () => void,
): Promise<Attempted | Unsendable | Outdated> {
  const { commands, metrics, tracer } = parts;
  const target = targetOf(commands.directory, loaded);
  if (target.kind !== 'enabled') return target;
  const { url } = target.webhook;
  const number = loaded.delivery.started + 1;
  const { bodySha256, post } = await prepare(parts, target, loaded);
  // Appended before the attempt, so that a crash hides none. Without this append there is no attempt.
  const start = await writeDelivery(commands, loaded, (current) => startAttempt(current, number, { url, bodySha256 }));
  if (!start.appended) return { kind: 'outdated', current: start.written };
  begun();
  const result = await traceAttempt(tracer, loaded, target.webhook, post);
  metrics?.attempted({ tenant: loaded.tenant, webhookId: target.webhook.id }, result);
  return { kind: 'attempted', started: start.written, url, result };
}

type Prepared = {
  /** Kept with the attempt, so that a body made again can be proved to be the one that was sent. */
  readonly bodySha256?: string;
  readonly post: () => Promise<AttemptResult>;
};

/** If the body would be too large, the attempt fails with that reason, without a call, and has no hash. */
async function prepare(
  { commands, payloads, transport, settings }: DeliveryParts,
  { tenant, webhook }: Target,
  { delivery: { subject }, deliveryId }: LoadedDelivery,
): Promise<Prepared> {
  try {
    const body = await payloads.make(tenant, webhook, subject);
    const sent = { subject, messageId: subject.messageId ?? deliveryId, body };
    const request = signedRequest(commands, webhook, sent, settings.version);
    return { bodySha256: sha256Of(body), post: () => transport.post(request) };
  } catch (error) {
    if (!(error instanceof OrderDocumentTooLargeError || error instanceof AnswerTooLargeError)) throw error;
    const { message: reason } = error;
    const failed = { ok: false, reason, status: null, durationMs: 0, responseBody: null, notSent: true } as const;
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
  const span = continueTrace(tracer, caller.traceparent, 'webhook attempt', { kind: SpanKind.CLIENT });
  const result = await post();
  if (span === undefined) return result;
  const { ok, status } = result;
  span.setAttributes({
    'http.request.method': 'POST',
    'http.response.status_code': status ?? undefined,
    // Not the URL's path and query, which may hold secrets of the receiver.
    'server.address': new URL(url).hostname,
    'dynamic_assets.webhook.id': id,
    'dynamic_assets.webhook.event': delivery.subject.kind,
    'dynamic_assets.delivery.id': deliveryId,
    'dynamic_assets.attempt': delivery.started + 1,
  });
  if (!ok) failSpan(span, status === null ? (result.cause ?? 'no answer') : String(status));
  span.end();
  return result;
}

/** The slot is free again: appends the outcome. */
async function conclude(
  parts: DeliveryParts,
  { started, url, result }: Attempted,
  endpoint: Endpoint,
): Promise<LoadedDelivery> {
  const written = await appendOutcome(parts, started, result);
  const { deliveryId, delivery } = started;
  const { ok, status, durationMs } = result;
  const { orderId } = delivery.subject;
  // The URL's path and query may hold secrets of the receiver.
  const { host } = new URL(url);
  const about = { ...endpoint, deliveryId, orderId, attempt: delivery.started, host, ok, status, durationMs };
  if (result.ok) parts.logger.info(about, 'webhook attempt');
  else {
    parts.logger.warn({ ...about, reason: result.reason }, 'webhook attempt');
    await parts.health.failed(written, url, result, parts.gate.failures(endpoint));
  }
  return written;
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
  const webhook = commands.directory.tenant(tenant)?.webhooks.get(webhookId);
  const reason = `All ${delivery.started} attempts to deliver to webhook ${webhook?.name ?? webhookId} failed.`;
  const disabled = webhook?.disabled === undefined ? [] : [`The webhook is disabled: ${webhook.disabled.reason}`];
  const reasons = [reason, ...delivery.failures, ...disabled];
  // Only an export that was due fails its order: not other kinds of event, and not replays.
  if (isDueExport(delivery.subject)) {
    const failure = { approvalEventId: delivery.subject.sourceEventId, reasons, webhookId, deliveryId };
    await writeOrder(commands, loaded.caller, orderId, (order) => failExport(order, failure));
  }
  const lastReason = delivery.failures.at(-1) ?? reason;
  const { appended } = await writeDelivery(commands, loaded, (current) => failDelivery(current, lastReason));
  if (!appended) return DONE;
  logger.warn({ tenant, deliveryId, orderId, webhookId, reasons }, 'webhook delivery failed for good');
  metrics?.failedForGood({ tenant, webhookId });
  return DONE;
}

// What a delivery's end, or its wait, means to its order. Each does nothing when the status has changed since that approval,
// so it may be repeated after a crash.

/** The delivery is of an approval, and no replay. */
const isDueExport = ({ kind, purpose }: DeliverySubject): boolean => kind === 'order.approved' && purpose === undefined;

/** An export that was due waits for this webhook, which is disabled. */
async function holdExportOf(
  commands: Application,
  { delivery: { subject }, deliveryId, caller }: LoadedDelivery,
  webhook: Webhook,
): Promise<void> {
  const { orderId, sourceEventId: approvalEventId } = subject;
  const warning = disabledWarning(webhook);
  if (!isDueExport(subject) || warning === undefined) return;
  const hold = { approvalEventId, deliveryId, warning };
  await writeOrder(commands, caller, orderId, (order) => holdExport(order, hold));
}

/** An export that had failed for good may have been delivered by a replay. */
async function deliverExportOf(
  commands: Application,
  { delivery: { subject, outcome }, deliveryId, caller }: LoadedDelivery,
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = subject;
  const isReplay = purpose === 'resend' || purpose === 'backfill';
  if (kind !== 'order.approved' || !isReplay || outcome !== 'succeeded') return;
  const delivery = { approvalEventId, webhookId, deliveryId };
  await writeOrder(commands, caller, orderId, (order) => deliverExport(order, delivery));
}
