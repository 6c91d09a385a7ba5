/** The rules of one delivery to one webhook (spec §6.4): at most five attempts, each counted before it is made. */
import { jittered, MAX_DELIVERY_ATTEMPTS, MAX_RETRY_AFTER_MS, shortest, waitBefore } from './backoff.js';
import type { DeliveryEvent, DeliverySubject } from './events.js';

export type Delivery = {
  readonly subject: DeliverySubject;
  /** Attempts that were started, however they ended. */
  readonly started: number;
  /** The attempt whose outcome is not known: being made now, or cut off by a crash. */
  readonly unsettled: { readonly attempt: number; readonly since: string } | undefined;
  /** Why each attempt failed, in order. */
  readonly failures: readonly string[];
  readonly outcome: 'open' | 'succeeded' | 'failed';
  /** When the request or the last failure was recorded (ISO 8601). */
  readonly waitsSince: string;
  /** When the next attempt is due, as the last failure says (ISO 8601); older failures do not. */
  readonly retryAt: string | undefined;
};

/** What came of a call. `status` is null when there was no answer. */
export type CallResult =
  | { readonly ok: true; readonly status: number; readonly durationMs: number; readonly responseBody: string }
  | {
      readonly ok: false;
      readonly reason: string;
      readonly status: number | null;
      readonly durationMs: number;
      /** The first part of the answer. */
      readonly responseBody: string | null;
      /** What kept an answer from coming, where that is worth telling apart. */
      readonly cause?: 'timeout' | 'refused_address';
      /** How long the receiver asks to be left alone. */
      readonly retryAfterMs?: number;
    };

/** State after one more event, recorded `at` (ISO 8601). */
export function evolve(delivery: Delivery | undefined, event: DeliveryEvent, at: string): Delivery {
  if (event.type === 'DeliveryRequested') {
    return {
      subject: event.data,
      started: 0,
      unsettled: undefined,
      failures: [],
      outcome: 'open',
      waitsSince: at,
      retryAt: undefined,
    };
  }
  if (delivery === undefined) throw new Error(`${event.type} before DeliveryRequested.`);
  switch (event.type) {
    case 'DeliveryAttemptStarted':
      return { ...delivery, started: event.data.attempt, unsettled: { attempt: event.data.attempt, since: at } };
    case 'DeliveryAttemptFailed': {
      const { attempt, reason, retryAt } = event.data;
      const unsettled = delivery.unsettled?.attempt === attempt ? undefined : delivery.unsettled;
      return {
        ...delivery,
        unsettled,
        failures: [...delivery.failures, `Attempt ${attempt}: ${reason}`],
        waitsSince: at,
        retryAt,
      };
    }
    case 'DeliverySucceeded':
      return { ...delivery, unsettled: undefined, outcome: 'succeeded' };
    case 'DeliveryFailed':
      return { ...delivery, unsettled: undefined, outcome: 'failed' };
  }
}

/** What to do next about a delivery. */
export type NextStep =
  | { readonly kind: 'over' }
  /** This attempt was cut off: record that it failed (`CUT_OFF`), then decide again. */
  | { readonly kind: 'settle'; readonly attempt: number }
  | { readonly kind: 'wait'; readonly delayMs: number }
  | { readonly kind: 'attempt'; readonly attempt: number }
  /** All attempts are used: the order is to be failed, then `failDelivery` recorded. */
  | { readonly kind: 'exhausted' };

export type DeliveryTiming = {
  /** Waits before the attempts, in milliseconds (`waitBefore`). */
  readonly waits: readonly number[];
  /** A call that has not ended after so many milliseconds was cut off. */
  readonly callLimitMs: number;
};

/**
 * Decides on a delivery whose message was handed out, which after a crash or a lost connection may be early, and while
 * another process is still at it. An attempt that was cut off counts as used and failed: whether the receiver had it is
 * not known.
 */
export function nextStep(delivery: Delivery, now: string, { waits, callLimitMs }: DeliveryTiming): NextStep {
  if (delivery.outcome !== 'open') return { kind: 'over' };
  const { unsettled, started, retryAt, waitsSince } = delivery;
  if (unsettled !== undefined) {
    const step: NextStep = { kind: 'settle', attempt: unsettled.attempt };
    return untilOr(Date.parse(unsettled.since) + callLimitMs, now, step);
  }
  if (started >= MAX_DELIVERY_ATTEMPTS) return { kind: 'exhausted' };
  const attempt = started + 1;
  const due =
    retryAt === undefined ? Date.parse(waitsSince) + shortest(waitBefore(attempt, waits)) : Date.parse(retryAt);
  return untilOr(due, now, { kind: 'attempt', attempt });
}

/** The step, or waiting until it is due (milliseconds since the epoch). */
function untilOr(due: number, now: string, step: NextStep): NextStep {
  const delayMs = due - Date.parse(now);
  return delayMs > 0 ? { kind: 'wait', delayMs } : step;
}

/** What is recorded of an attempt that was cut off by a crash. */
export const CUT_OFF: CallResult = {
  ok: false,
  reason: 'The service stopped before the outcome was known.',
  status: null,
  durationMs: 0,
  responseBody: null,
};

/**
 * Events for what came of an attempt. None when the delivery is over, or when the failure was recorded already
 * (by another process that took the attempt for cut off). A success always counts: the receiver has the order.
 * @param retryAt when the next attempt is due after a failure (ISO 8601); it is not recorded when none is left
 */
export function decideOutcome(
  delivery: Delivery,
  attempt: number,
  result: CallResult,
  retryAt: string,
): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  const { durationMs, responseBody } = result;
  if (result.ok) {
    return [{ type: 'DeliverySucceeded', data: { attempt, status: result.status, durationMs, responseBody } }];
  }
  if (delivery.unsettled?.attempt !== attempt) return [];
  const { reason, status } = result;
  const failure = { attempt, reason, status, durationMs, responseBody };
  const isLast = delivery.started >= MAX_DELIVERY_ATTEMPTS;
  return [{ type: 'DeliveryAttemptFailed', data: isLast ? failure : { ...failure, retryAt } }];
}

/** Ends a delivery for good; nothing when it has ended. */
export function failDelivery(delivery: Delivery, reason: string): readonly DeliveryEvent[] {
  if (delivery.outcome !== 'open') return [];
  return [{ type: 'DeliveryFailed', data: { attempts: delivery.started, reason } }];
}

/** Wait after a failed attempt: the backoff, or longer if the receiver asked for it. */
export function waitAfterFailure(
  delivery: Delivery,
  result: CallResult,
  waits: readonly number[],
  random: number,
): number {
  const wait = jittered(waitBefore(delivery.started + 1, waits), random);
  const asked = result.ok ? 0 : Math.min(result.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS);
  return Math.max(wait, asked);
}
