/**
 * The story of a delivery, from top to bottom: a message says that a delivery is due, the delivery's stream says what
 * is next, the gates are passed in order, the attempt is made, and its outcome decides what follows.
 *
 * Only the stream decides. State in memory (circuits, shares, turns) may be lost at any time.
 */
import { SpanKind, type Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import type { Application } from '../commands/application.js';
import type { TenantDirectory } from '../commands/context.js';
import { deliverExport, failExport, holdExport } from '../commands/orders/orderWriter.js';
import { type LoadedDelivery, loadDelivery, writeDelivery } from '../commands/webhooks/deliveryStream.js';
import type { Tenant, Webhook } from '../domain/identity/directory.js';
import { disabledWarning } from '../domain/order/approval.js';
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
import { retry } from '../supervision/keepRunning.js';
import type { CircuitBreakers } from './circuitBreaker.js';
import type { DeliveryMetrics } from './deliveryMetrics.js';
import { requestBefore } from './deliveryRequests.js';
import { type Dispatcher, type Endpoint, endpointKey } from './dispatcher.js';
import type { EndpointHealth } from './endpointHealth.js';
import type { WebhookTransport } from './httpsTransport.js';
import type { OrderTurns } from './orderTurns.js';
import { DELIVERY_QUEUE, type DeliveryJob, deliveryJob } from './queue.js';
import { prepareAttempt, type RequestParts } from './webhookRequest.js';

/** Everything that a delivery needs. */
export type DeliveryParts = RequestParts & {
  readonly broker: Pick<MessageBroker, 'publish'>;
  readonly transport: WebhookTransport;
  readonly logger: Logger;
  readonly metrics?: DeliveryMetrics;
  readonly tracer?: Tracer | undefined;
  readonly settings: DeliveryTiming;
  readonly circuits: CircuitBreakers;
  readonly dispatcher: Dispatcher;
  readonly turns: OrderTurns;
  readonly health: EndpointHealth;
};

/**
 * How long appending an attempt's outcome is retried while the log is away. After that the attempt counts as cut off.
 */
const OUTAGE_MS = 6_000;
const OUTAGE_BACKOFF = { firstMs: 1_000, longestMs: 1_000 };

/** Waits after a fault of the service itself. */
const FAULT_MS = { first: 1_000, longest: 60_000 };
/** Wait for a delivery that was only just requested. */
const REQUESTED_MS = 50;
/** Clocks of processes differ. */
const CLOCK_TOLERANCE_MS = 10_000;

const DONE: Outcome = { kind: 'done' };
const retryIn = (delayMs: number): Outcome => ({ kind: 'retry', delayMs });
const deadLetter = (reason: string): Outcome => ({ kind: 'dead', reason });

/** Handles the message that a delivery is due. @returns what the broker does with the message */
export async function deliver(parts: DeliveryParts, { body, redeliveries }: ReceivedMessage): Promise<Outcome> {
  const job = deliveryJob.safeParse(body);
  if (!job.success) return deadLetter('The message names no delivery.');
  try {
    return await admit(parts, job.data, redeliveries);
  } catch (error) {
    // A fault of the service (the log cannot be reached), not of the receiver. The stream says how far the delivery had
    // come.
    const delayMs = doubled(FAULT_MS.first, FAULT_MS.longest, redeliveries);
    parts.logger.error({ err: error, ...job.data, delayMs }, 'webhook delivery is put off');
    return retryIn(delayMs);
  }
}

/** Can the webhook take a message now? Known in memory: its circuit, its share in flight, this delivery in flight. */
async function admit(parts: DeliveryParts, job: DeliveryJob, redeliveries: number): Promise<Outcome> {
  const { commands, cache, circuits, dispatcher, turns } = parts;
  if (commands.directory.wasDeleted(job.tenant)) return DONE;
  const load = async () => cache.takeRequested(job) ?? (await loadDelivery(commands.eventStore, job));
  const missing = deadLetter(`There is no delivery ${job.deliveryId}.`);
  const webhookId = job.webhookId ?? (await load())?.delivery.subject.webhookId;
  if (webhookId === undefined) return missing;
  const endpoint: Endpoint = { tenant: job.tenant, webhookId };
  // Checked here so that messages for a receiver that is down cost no read of the log; and again before the attempt,
  // since the circuit may open while the message waits for its slot.
  const { disabled, heldAfter = 0 } = commands.directory.tenant(job.tenant)?.webhooks.get(webhookId) ?? {};
  if (disabled !== undefined && heldAfter < (job.enabledAt ?? 0)) {
    // This process has not heard yet that it was enabled.
    return retryIn(doubled(FAULT_MS.first, FAULT_MS.longest, redeliveries));
  }
  const openMs = disabled === undefined ? circuits.waitMs(endpointKey(endpoint)) : 0;
  if (openMs > 0) return retryIn(openMs * (1 + Math.random() / 2));
  const leave = dispatcher.enter(endpoint);
  if (leave === undefined) return retryIn(dispatcher.delayMs(endpoint, redeliveries));
  try {
    return await turns.take(job.deliveryId, async () => {
      const loaded = await load();
      if (loaded === undefined) return missing;
      return redeliveries === 0 && hasOtherMessage(job, loaded, commands.now())
        ? DONE
        : proceed(parts, loaded, redeliveries);
    });
  } finally {
    leave();
  }
}

/**
 * Enabling a webhook publishes a message for each open delivery. One that waits between two attempts has its own message,
 * which ends only when the delivery is due while the webhook is disabled.
 */
const hasOtherMessage = ({ enabledAt }: DeliveryJob, { delivery }: LoadedDelivery, now: string): boolean =>
  enabledAt !== undefined && Date.parse(delivery.retryAt ?? now) - Date.parse(now) > CLOCK_TOLERANCE_MS;

/** The next step, as the stream says. Repeated after each outcome. */
async function proceed(parts: DeliveryParts, loaded: LoadedDelivery, redeliveries: number): Promise<Outcome> {
  const step = nextStep(loaded.delivery, parts.commands.now(), parts.settings);
  switch (step.kind) {
    case 'over':
      // Repeated at each message, since a crash may have come between the success and this step.
      await deliverExportOf(parts.commands, loaded);
      return DONE;
    case 'wait':
      return retryIn(step.delayMs);
    case 'cut-off':
      return proceed(parts, await appendOutcome(parts, loaded, CUT_OFF), redeliveries);
    case 'exhausted':
      return giveUp(parts, loaded);
    case 'attempt':
      return attempt(parts, loaded, redeliveries);
  }
}

/** Waits for the order's turn and a slot, then handles the slot's result. */
async function attempt(parts: DeliveryParts, loaded: LoadedDelivery, redeliveries: number): Promise<Outcome> {
  const { commands, circuits, dispatcher, turns } = parts;
  const { tenant, delivery, requestedAt } = loaded;
  const { after, webhookId } = delivery.subject;
  // If the directory lagged behind the relay's, a new webhook would look like a removed one.
  await commands.directory.waitFor(requestedAt);
  const target = targetOf(commands.directory, loaded);
  if (target.kind === 'webhook-disabled') return hold(parts, loaded, target.webhook);
  if (target.kind === 'enabled' && after !== undefined) {
    const turnMs = await turns.waitMs({ tenant, deliveryId: after }, commands.now());
    const before = turnMs === undefined && (await requestBefore(commands, parts.cache, target.webhook, loaded));
    if (before) await parts.broker.publish(DELIVERY_QUEUE, [before]);
    const waitMs = before ? REQUESTED_MS : (turnMs ?? 0);
    if (waitMs > 0) return retryIn(waitMs);
  }
  const endpoint = endpointKey({ tenant, webhookId });
  const sent = await dispatcher.inSlot({ tenant, webhookId }, (begun) => send(parts, loaded, endpoint, begun));
  // The service is stopping.
  if (sent === undefined) return retryIn(0);
  switch (sent.kind) {
    case 'attempted':
      return conclude(parts, sent, redeliveries);
    case 'webhook-removed':
      circuits.close(endpoint);
      parts.health.forget(webhookId);
      await writeDelivery(commands, loaded, (current) => failDelivery(current, 'webhook removed'));
      return DONE;
    case 'webhook-disabled':
      return hold(parts, loaded, sent.webhook);
    case 'circuit-open':
      return retryIn(circuits.waitMs(endpoint));
    case 'outdated':
      return proceed(parts, sent.current, redeliveries);
  }
}

/** It waits in the log, without a message: enabling the webhook publishes one for each open delivery. */
async function hold({ commands, circuits }: DeliveryParts, loaded: LoadedDelivery, webhook: Webhook): Promise<Outcome> {
  // The operator who enables it expects attempts.
  circuits.close(endpointKey({ tenant: loaded.tenant, webhookId: webhook.id }));
  await holdExportOf(commands, loaded, webhook);
  return DONE;
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

type Sent = Attempted | Unsendable | Outdated | { readonly kind: 'circuit-open' };

type Unsendable =
  | { readonly kind: 'webhook-removed' }
  | { readonly kind: 'webhook-disabled'; readonly webhook: Webhook };

/** In the slot: the webhook as it is now, its circuit's permit, and the attempt. */
async function send(parts: DeliveryParts, loaded: LoadedDelivery, endpoint: string, begun: () => void): Promise<Sent> {
  const { commands, circuits, transport, metrics, tracer } = parts;
  const target = targetOf(commands.directory, loaded);
  if (target.kind !== 'enabled') return target;
  const permit = circuits.permit(endpoint);
  if (permit === undefined) return { kind: 'circuit-open' };
  let result: AttemptResult | undefined;
  try {
    const { post, bodySha256 } = await prepareAttempt(parts, target.tenant, target.webhook, loaded);
    const { url } = target.webhook;
    const number = loaded.delivery.started + 1;
    // Appended before the attempt, so that a crash hides none. Without this append there is no attempt.
    const start = await writeDelivery(commands, loaded, (current) =>
      startAttempt(current, number, { url, bodySha256 }),
    );
    if (!start.appended) return { kind: 'outdated', current: start.written };
    begun();
    result = await traceAttempt(tracer, loaded, target.webhook, () => post(transport));
    metrics?.attempted({ tenant: loaded.tenant, webhookId: target.webhook.id }, result);
    return { kind: 'attempted', started: start.written, url, result };
  } finally {
    if (result === undefined) permit('unused');
    else permit(result.ok ? 'succeeded' : 'failed');
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

type Target = { readonly kind: 'enabled'; readonly tenant: Tenant; readonly webhook: Webhook };

function targetOf(directory: TenantDirectory, { tenant: name, delivery }: LoadedDelivery): Target | Unsendable {
  const tenant = directory.tenant(name);
  const webhook = tenant?.webhooks.get(delivery.subject.webhookId);
  if (tenant === undefined || webhook === undefined) return { kind: 'webhook-removed' };
  return { kind: webhook.disabled === undefined ? 'enabled' : 'webhook-disabled', tenant, webhook };
}

/** The slot is free again. Appends the outcome, then does what the stream says next. */
async function conclude(
  parts: DeliveryParts,
  { started, url, result }: Attempted,
  redeliveries: number,
): Promise<Outcome> {
  const written = await appendOutcome(parts, started, result);
  const { tenant, deliveryId, delivery } = started;
  const { ok, status, durationMs } = result;
  const { orderId, webhookId } = delivery.subject;
  // The URL's path and query may hold secrets of the receiver.
  const { host } = new URL(url);
  const about = { tenant, webhookId, deliveryId, orderId, attempt: delivery.started, host, ok, status, durationMs };
  if (result.ok) parts.logger.info(about, 'webhook attempt');
  else parts.logger.warn({ ...about, reason: result.reason }, 'webhook attempt');
  await parts.health.attempted(written, url, result);
  return proceed(parts, written, redeliveries);
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
  await failExportOf(commands, loaded, reasons);
  const lastReason = delivery.failures.at(-1) ?? reason;
  const { appended } = await writeDelivery(commands, loaded, (current) => failDelivery(current, lastReason));
  if (!appended) return DONE;
  logger.warn({ tenant, deliveryId, orderId, webhookId, reasons }, 'webhook delivery failed for good');
  metrics?.failedForGood({ tenant, webhookId });
  return DONE;
}

// What a delivery's end, or its wait, means to its order. All of it may safely be repeated after a crash.

/** The delivery is of an approval, and no replay. */
const isDueExport = ({ kind, purpose }: DeliverySubject): boolean => kind === 'order.approved' && purpose === undefined;

/** Only an export that was due fails its order: not other kinds of event, and not replays. */
async function failExportOf(
  commands: Application,
  { delivery: { subject }, deliveryId, caller }: LoadedDelivery,
  reasons: readonly string[],
): Promise<void> {
  const { orderId, webhookId, sourceEventId: approvalEventId } = subject;
  if (!isDueExport(subject)) return;
  await failExport(commands, caller, orderId, { approvalEventId, reasons, webhookId, deliveryId });
}

/** An export that was due waits for this webhook, which is disabled. */
async function holdExportOf(
  commands: Application,
  { delivery: { subject }, deliveryId, caller }: LoadedDelivery,
  webhook: Webhook,
): Promise<void> {
  const { orderId, sourceEventId: approvalEventId } = subject;
  const warning = disabledWarning(webhook);
  if (!isDueExport(subject) || warning === undefined) return;
  await holdExport(commands, caller, orderId, { approvalEventId, deliveryId, warning });
}

/** An export that had failed for good may have been delivered by a replay. */
async function deliverExportOf(
  commands: Application,
  { delivery: { subject, outcome }, deliveryId, caller }: LoadedDelivery,
): Promise<void> {
  const { kind, purpose, orderId, webhookId, sourceEventId: approvalEventId } = subject;
  const isReplay = purpose === 'resend' || purpose === 'backfill';
  if (kind !== 'order.approved' || !isReplay || outcome !== 'succeeded') return;
  await deliverExport(commands, caller, orderId, { approvalEventId, webhookId, deliveryId });
}
