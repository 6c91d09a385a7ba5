/** The rules of one delivery to one webhook (spec §6.4): at most five attempts, each counted before it is made. */
import type { DeliveryEvent, DeliverySubject } from './events.js';

export const MAX_DELIVERY_ATTEMPTS = 5;

/** A receiver may ask for a longer backoff (Retry-After, RFC 9110 §10.2.3), up to this. */
export const MAX_RETRY_AFTER_MS = 3_600_000;

/** Delays vary by this part, so that what failed together does not come back together. */
const JITTER = 0.2;

/**
 * Backoff before an attempt (1 to 5) in milliseconds, without jitter.
 * @param backoffMs five or more: one for each attempt. Fewer: those between attempts, of which the last repeats; the
 *   first attempt is then made at once
 */
export function backoffBefore(attempt: number, backoffMs: readonly number[]): number {
  if (backoffMs.length >= MAX_DELIVERY_ATTEMPTS) return backoffMs[attempt - 1] ?? 0;
  return attempt === 1 ? 0 : (backoffMs[Math.min(attempt - 2, backoffMs.length - 1)] ?? 0);
}

/** The delay with its jitter; `random` is from 0 to 1. */
export const jittered = (delayMs: number, random: number): number =>
  Math.round(delayMs * (1 - JITTER + 2 * JITTER * random));

/** The shortest delay that jitter allows. */
export const shortest = (delayMs: number): number => Math.round(delayMs * (1 - JITTER));

/** A delay that doubles with each redelivery of a message, up to the longest. */
export const doubled = (firstMs: number, longestMs: number, redeliveries: number): number =>
  Math.min(longestMs, firstMs * 2 ** redeliveries);

export type Delivery = {
  readonly subject: DeliverySubject;
  /** Attempts that were started, however they ended. */
  readonly started: number;
  /** The attempt that has no outcome yet: being made now, or cut off by a crash. */
  readonly inFlight: { readonly attempt: number; readonly since: string } | undefined;
  /** Whether of an attempt that failed nobody knows if the receiver got it. */
  readonly isUncertain: boolean;
  /** Why each attempt failed, in order. */
  readonly failures: readonly string[];
  readonly outcome: 'open' | 'succeeded' | 'failed';
  /** When it was requested, or failed last (ISO 8601). */
  readonly waitsSince: string;
  /** When the next attempt is due, as the last failure says (ISO 8601); older failures do not. */
  readonly retryAt: string | undefined;
};

/** What came of an attempt. `status` is null when there was no answer. */
export type AttemptResult =
  | { readonly ok: true; readonly status: number; readonly durationMs: number; readonly responseBody: string }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly status: number | null;
      readonly durationMs: number;
      /** The first part of the answer. */
      readonly responseBody: string | null;
      /** Why there was no answer, where the metrics distinguish it. */
      readonly cause?: 'timeout' | 'refused_address';
      /** The request was not begun, so the receiver cannot have it. */
      readonly notSent?: true;
      /** How long the receiver asks for no attempt. */
      readonly retryAfterMs?: number;
    };

/** The delivery after one more event, which happened `at` (ISO 8601). */
export function evolve(delivery: Delivery | undefined, event: DeliveryEvent, at: string): Delivery {
  if (event.type === 'DeliveryRequested') {
    return {
      subject: event.data,
      started: 0,
      inFlight: undefined,
      isUncertain: false,
      failures: [],
      outcome: 'open',
      waitsSince: at,
      retryAt: undefined,
    };
  }
  if (delivery === undefined) throw new Error(`${event.type} before DeliveryRequested.`);
  switch (event.type) {
    case 'DeliveryAttemptStarted':
      return { ...delivery, started: event.data.attempt, inFlight: { attempt: event.data.attempt, since: at } };
    case 'DeliveryAttemptFailed': {
      const { attempt, reason, retryAt, status, notSent } = event.data;
      const inFlight = delivery.inFlight?.attempt === attempt ? undefined : delivery.inFlight;
      return {
        ...delivery,
        inFlight,
        isUncertain: delivery.isUncertain || (notSent !== true && UNCERTAIN.includes(status)),
        failures: [...delivery.failures, `Attempt ${attempt}: ${reason}`],
        waitsSince: at,
        retryAt,
      };
    }
    case 'DeliverySucceeded':
      return { ...delivery, inFlight: undefined, outcome: 'succeeded' };
    case 'DeliveryFailed': {
      const isUncertain = delivery.isUncertain || delivery.inFlight !== undefined;
      return { ...delivery, inFlight: undefined, isUncertain, outcome: 'failed' };
    }
  }
}

/** No answer, and what gateways answer that may have handed the request on (RFC 9110 §15.6.3, §15.6.5). */
const UNCERTAIN: readonly (number | null)[] = [null, 502, 504];

/** Whether the receiver has the message, may have it, or will be sent it. */
export const mayHaveArrived = ({ outcome, isUncertain }: Delivery): boolean => outcome !== 'failed' || isUncertain;

/** What to do next about a delivery. */
export type NextStep =
  | { readonly kind: 'over' }
  /** A crash has cut this attempt off: append that it failed (`CUT_OFF`), then decide again. */
  | { readonly kind: 'cut-off'; readonly attempt: number }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'attempt'; readonly attempt: number }
  /** All attempts are used: fail the order, then the delivery (`failDelivery`). */
  | { readonly kind: 'exhausted' };

export type DeliveryTiming = {
  /** See `backoffBefore`. */
  readonly backoffMs: readonly number[];
  /** An attempt without an outcome after so many milliseconds was cut off. More than the transport's limit. */
  readonly attemptLimitMs: number;
};

/**
 * Decides on a delivery whose message was handed out. After a crash or a lost connection that may be early, or while
 * another process is still making the attempt. One that was cut off counts as used and failed, since nobody knows
 * whether the receiver got it.
 */
export function nextStep(delivery: Delivery, now: string, { backoffMs, attemptLimitMs }: DeliveryTiming): NextStep {
  if (delivery.outcome !== 'open') return { kind: 'over' };
  const { inFlight, started, retryAt, waitsSince } = delivery;
  if (inFlight !== undefined) {
    const step: NextStep = { kind: 'cut-off', attempt: inFlight.attempt };
    return untilOr(Date.parse(inFlight.since) + attemptLimitMs, now, step);
  }
  if (started >= MAX_DELIVERY_ATTEMPTS) return { kind: 'exhausted' };
  const attempt = started + 1;
  const due =
    retryAt === undefined ? Date.parse(waitsSince) + shortest(backoffBefore(attempt, backoffMs)) : Date.parse(retryAt);
  return untilOr(due, now, { kind: 'attempt', attempt });
}

/** The step when it is due (milliseconds since the epoch), and waiting before. */
function untilOr(due: number, now: string, step: NextStep): NextStep {
  const delayMs = due - Date.parse(now);
  return delayMs > 0 ? { kind: 'wait', delayMs } : step;
}

/** The first event of an attempt, appended before it is made; none when it is not the next one any more. */
export function startAttempt(delivery: Delivery, attempt: number, url: string): readonly DeliveryEvent[] {
  const isNext = delivery.outcome === 'open' && delivery.inFlight === undefined && delivery.started === attempt - 1;
  return isNext ? [{ type: 'DeliveryAttemptStarted', data: { attempt, url } }] : [];
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
 * Events for what came of an attempt. None when the delivery is over, or when the failure is in the log already (of
 * another process that took the attempt for cut off). A success always counts: the receiver has the message.
 * @param retryAt when the next attempt is due after a failure (ISO 8601); left out when none is left
 */
export function decideOutcome(
  delivery: Delivery,
  attempt: number,
  result: AttemptResult,
  retryAt: string,
): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  const { durationMs, responseBody } = result;
  if (result.ok) {
    return [{ type: 'DeliverySucceeded', data: { attempt, status: result.status, durationMs, responseBody } }];
  }
  if (delivery.inFlight?.attempt !== attempt) return [];
  const { reason, status, notSent } = result;
  const failure = { attempt, reason, status, durationMs, responseBody, ...(notSent ? { notSent } : {}) };
  const isLast = delivery.started >= MAX_DELIVERY_ATTEMPTS;
  return [{ type: 'DeliveryAttemptFailed', data: isLast ? failure : { ...failure, retryAt } }];
}

/** Ends a delivery for good; nothing when it has ended. */
export function failDelivery(delivery: Delivery, reason: string): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  return [{ type: 'DeliveryFailed', data: { attempts: delivery.started, reason } }];
}

/** Milliseconds from a failed attempt to the next: the backoff, or longer if the receiver asked for it. */
export function backoffAfter(
  delivery: Delivery,
  result: AttemptResult,
  backoffMs: readonly number[],
  random: number,
): number {
  const delayMs = jittered(backoffBefore(delivery.started + 1, backoffMs), random);
  const askedMs = result.ok ? 0 : Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(delayMs, askedMs);
}
