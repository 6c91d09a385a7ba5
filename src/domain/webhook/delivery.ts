/**
 * The rules of one delivery to one webhook (spec §6.4): at most five attempts, each counted before it is made. The fifth failure
 * of an approved order's delivery fails the order as well, which comes first (`giveUp` in `webhooks/deliver.ts`).
 */
import type { Attempted, DeliveryEvent, DeliverySubject } from './events.js';

export const MAX_DELIVERY_ATTEMPTS = 5;

/** A receiver may ask for a longer backoff (Retry-After, RFC 9110 §10.2.3), up to this. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Delays vary by this share, so that deliveries that failed together are not retried together. */
const JITTER = 0.2;

export type Delivery = {
  readonly subject: DeliverySubject;
  /** Attempts that were started. */
  readonly started: number;
  /** The attempt without an outcome: made now, or cut off by a crash. */
  readonly inFlight: { readonly attempt: number; readonly since: string } | undefined;
  /** Why each attempt failed, in order. */
  readonly failures: readonly string[];
  readonly outcome: 'open' | 'succeeded' | 'failed';
  /** When it was requested, or last failed (ISO 8601). */
  readonly waitsSince: string;
  /** When the next attempt is due, from the last failure (ISO 8601); events of early releases do not say. */
  readonly retryAt: string | undefined;
};

/** The outcome of an attempt. `status` is null when there was no answer. */
export type AttemptResult = Pick<Attempted, 'durationMs' | 'responseHeaders'> &
  (
    | { readonly ok: true; readonly status: number; readonly responseBody: string }
    | {
        readonly ok: false;
        readonly reason: string;
        readonly status: number | null;
        readonly responseBody: string | null;
        /** Why there was no answer, as far as metrics distinguish it. */
        readonly cause?: 'timeout' | 'refused_address';
        /** How long the receiver asks to wait (Retry-After). */
        readonly retryAfterMs?: number;
      }
  );

/** The delivery after one more event. @param at its time (ISO 8601) */
export function evolve(delivery: Delivery | undefined, event: DeliveryEvent, at: string): Delivery {
  if (event.type === 'DeliveryRequested') {
    const nothing = { started: 0, inFlight: undefined, failures: [], retryAt: undefined };
    return { ...nothing, subject: event.data, outcome: 'open', waitsSince: at };
  }
  if (delivery === undefined) throw new Error(`${event.type} before DeliveryRequested.`);
  switch (event.type) {
    case 'DeliveryAttemptStarted':
      return { ...delivery, started: event.data.attempt, inFlight: { attempt: event.data.attempt, since: at } };
    case 'DeliveryAttemptFailed': {
      const { attempt, reason, retryAt } = event.data;
      const inFlight = delivery.inFlight?.attempt === attempt ? undefined : delivery.inFlight;
      const failures = [...delivery.failures, `Attempt ${attempt}: ${reason}`];
      return { ...delivery, inFlight, failures, waitsSince: at, retryAt };
    }
    case 'DeliverySucceeded':
      return { ...delivery, inFlight: undefined, outcome: 'succeeded' };
    case 'DeliveryFailed':
      return { ...delivery, inFlight: undefined, outcome: 'failed' };
  }
}

type NextStep =
  | { readonly kind: 'over' }
  /** A crash has cut the attempt off: append that it failed (`CUT_OFF`), then decide again. */
  | { readonly kind: 'cut-off' }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'attempt' }
  /** All attempts are used: fail the order, then the delivery (`failDelivery`). */
  | { readonly kind: 'exhausted' };

/** Clocks of processes differ by less. A wait that began later than that is over: the clock was put back. */
const CLOCK_TOLERANCE_MS = 10_000;

/**
 * The next step of a delivery whose message was consumed. After a crash or a lost connection, that may be too early, or
 * while another process still makes the attempt. An attempt that was cut off counts as used and failed, since the receiver
 * may have got it.
 * @param attemptLimitMs an attempt without an outcome for this long was cut off: longer than the transport's timeout
 */
export function nextStep(delivery: Delivery, now: string, attemptLimitMs: number): NextStep {
  if (delivery.outcome !== 'open') return { kind: 'over' };
  const { inFlight, started, retryAt, waitsSince } = delivery;
  const untilOr = (from: string, waitMs: number, step: NextStep): NextStep => {
    const [began, nowMs] = [Date.parse(from), Date.parse(now)];
    const delayMs = began + waitMs - nowMs;
    return delayMs > 0 && began <= nowMs + CLOCK_TOLERANCE_MS ? { kind: 'wait', delayMs } : step;
  };
  if (inFlight !== undefined) return untilOr(inFlight.since, attemptLimitMs, { kind: 'cut-off' });
  if (started >= MAX_DELIVERY_ATTEMPTS) return { kind: 'exhausted' };
  const waitMs = retryAt === undefined ? 0 : Date.parse(retryAt) - Date.parse(waitsSince);
  return untilOr(waitsSince, waitMs, { kind: 'attempt' });
}

/** The first event of an attempt, appended before it is made; none when another attempt was started instead. */
export function startAttempt(
  delivery: Delivery,
  attempt: number,
  { url, bodySha256 }: { readonly url: string; readonly bodySha256?: string | undefined },
): readonly DeliveryEvent[] {
  const isNext = delivery.outcome === 'open' && delivery.inFlight === undefined && delivery.started === attempt - 1;
  if (!isNext) return [];
  const hash = bodySha256 === undefined ? {} : { bodySha256 };
  return [{ type: 'DeliveryAttemptStarted', data: { attempt, url, ...hash } }];
}

/** The result of an attempt that was cut off by a crash. */
export const CUT_OFF: AttemptResult & { readonly ok: false } = {
  ok: false,
  reason: 'The service stopped before the outcome was known.',
  status: null,
  durationMs: 0,
  responseBody: null,
};

/**
 * Events for the outcome of an attempt. None when the delivery is over, or when another process has already recorded the
 * attempt as cut off. A success always counts: the receiver has the message.
 * @param retryAt when the next attempt is due after a failure (ISO 8601); ignored when none is left
 */
export function decideOutcome(
  delivery: Delivery,
  attempt: number,
  result: AttemptResult,
  retryAt: string,
): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  const { durationMs, responseBody, responseHeaders } = result;
  const answered = { attempt, durationMs, responseBody, ...(responseHeaders && { responseHeaders }) };
  if (result.ok) return [{ type: 'DeliverySucceeded', data: { ...answered, status: result.status } }];
  if (delivery.inFlight?.attempt !== attempt) return [];
  const failure = { ...answered, reason: result.reason, status: result.status };
  const isLast = delivery.started >= MAX_DELIVERY_ATTEMPTS;
  return [{ type: 'DeliveryAttemptFailed', data: isLast ? failure : { ...failure, retryAt } }];
}

/** Ends a delivery for good; no event when it is over. */
export function failDelivery(delivery: Delivery, reason: string): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  return [{ type: 'DeliveryFailed', data: { attempts: delivery.started, reason } }];
}

/**
 * Milliseconds from a failed attempt to the next: the backoff, or what the receiver asked for if that is longer.
 * @param backoffMs between attempts; the last one repeats
 * @param random 0 to 1
 */
export function backoffAfter(
  { started }: Pick<Delivery, 'started'>,
  result: AttemptResult,
  backoffMs: readonly number[],
  random: number,
): number {
  const delayMs = backoffMs[Math.min(started, backoffMs.length) - 1] ?? 0;
  const askedMs = result.ok ? 0 : Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(Math.round(delayMs * (1 - JITTER + 2 * JITTER * random)), askedMs);
}
