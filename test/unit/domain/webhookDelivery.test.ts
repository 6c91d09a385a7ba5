import { settings } from '#app/config.js';
import {
  type AttemptResult,
  backoffAfter,
  backoffBefore,
  CUT_OFF,
  type Delivery,
  decideOutcome,
  evolve,
  failDelivery,
  jittered,
  MAX_DELIVERY_ATTEMPTS,
  mayHaveArrived,
  nextStep,
} from '#app/domain/webhook/delivery.js';
import type { DeliveryEvent } from '#app/domain/webhook/events.js';

/** The default of the service. */
const BACKOFF_MS = settings.WEBHOOK_BACKOFF_MS.parse(undefined);

const requested: DeliveryEvent = {
  type: 'DeliveryRequested',
  data: { webhookId: 'w', kind: 'order.approved', orderId: 'o', sourceEventId: 'e', sourceRevision: 3 },
};
const started = (attempt: number): DeliveryEvent => ({
  type: 'DeliveryAttemptStarted',
  data: { attempt, url: 'https://erp.example.com/' },
});
/** As older versions recorded it, without `retryAt`. */
const failed = (attempt: number, reason = 'HTTP 500'): DeliveryEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { attempt, reason, status: 500, durationMs: 7, responseBody: 'oops' },
});
const failedUntil = (attempt: number, retryAt: string): DeliveryEvent => ({
  type: 'DeliveryAttemptFailed',
  data: { attempt, reason: 'HTTP 500', status: 500, durationMs: 7, responseBody: 'oops', retryAt },
});
const succeeded = (attempt: number): DeliveryEvent => ({
  type: 'DeliverySucceeded',
  data: { attempt, status: 200, durationMs: 7, responseBody: 'thanks' },
});

const error500: AttemptResult = { ok: false, reason: 'HTTP 500', status: 500, durationMs: 7, responseBody: 'oops' };
const ok200: AttemptResult = { ok: true, status: 200, durationMs: 7, responseBody: 'thanks' };

/** Given: one event a second from 12:00:01 on. */
function given(...events: DeliveryEvent[]): Delivery {
  const delivery = events.reduce<Delivery | undefined>(
    (state, event, i) => evolve(state, event, `2026-11-21T12:00:0${(i + 1) % 10}.000000Z`),
    undefined,
  );
  if (delivery === undefined) throw new Error('given nothing');
  return delivery;
}

const RETRY_AT = '2026-11-21T12:00:45.000Z';
/** What is recorded when an attempt was cut off. */
const cutOff = (delivery: Delivery, attempt: number, at: string): Delivery => {
  const [event] = decideOutcome(delivery, attempt, CUT_OFF, RETRY_AT);
  if (event === undefined) throw new Error('nothing recorded');
  return evolve(delivery, event, at);
};

const LATER = '2026-11-22T00:00:00.000000Z';
const next = (delivery: Delivery, now = LATER) =>
  nextStep(delivery, now, { backoffMs: BACKOFF_MS, attemptLimitMs: 20_000 });
const failures = (count: number): DeliveryEvent[] =>
  Array.from({ length: count }, (_, i) => [started(i + 1), failed(i + 1)]).flat();

describe('a delivery (spec §6.4)', () => {
  test('given a request, the first attempt is made at once', () => {
    expect(next(given(requested), '2026-11-21T12:00:01.000000Z')).toEqual({ kind: 'attempt', attempt: 1 });
  });

  test.each([1, 2, 3, 4])('given %i failed attempts, another is made', (count) => {
    expect(next(given(requested, ...failures(count)))).toEqual({ kind: 'attempt', attempt: count + 1 });
  });

  test('given 5 failed attempts, there is never a sixth', () => {
    expect(next(given(requested, ...failures(5)))).toEqual({ kind: 'exhausted' });
  });

  test('given an attempt that a crash cut off, it counts as used and failed', () => {
    const delivery = given(requested, ...failures(1), started(2));
    expect(next(delivery)).toEqual({ kind: 'cut-off', attempt: 2 });
    expect(next(cutOff(delivery, 2, LATER))).toEqual({ kind: 'attempt', attempt: 3 });
  });

  test('given an attempt that may still be in work elsewhere, it is left alone until the time limit has passed', () => {
    const delivery = given(requested, started(1));
    expect(next(delivery, '2026-11-21T12:00:05.000000Z')).toEqual({ kind: 'wait', delayMs: 17_000 });
    expect(next(delivery, '2026-11-21T12:00:22.000000Z')).toEqual({ kind: 'cut-off', attempt: 1 });
  });

  test('given a fifth attempt that was cut off, it counts as failed and nothing is left', () => {
    const delivery = given(requested, ...failures(4), started(5));
    expect(next(delivery)).toEqual({ kind: 'cut-off', attempt: 5 });
    expect(next(cutOff(delivery, 5, LATER))).toEqual({ kind: 'exhausted' });
  });

  test('a message that comes early (after a crash) waits out the backoff', () => {
    const delivery = given(requested, ...failures(2));
    // Failed at 12:00:05; 2 minutes less 20 % later is the earliest.
    expect(next(delivery, '2026-11-21T12:00:15.000000Z')).toEqual({ kind: 'wait', delayMs: 86_000 });
    expect(next(delivery, '2026-11-21T12:01:41.000000Z')).toEqual({ kind: 'attempt', attempt: 3 });
  });

  test('a message that comes early waits until the time that the last failure names, Retry-After included', () => {
    const delivery = given(requested, started(1), failedUntil(1, '2026-11-21T12:30:00.000Z'));
    expect(next(delivery, '2026-11-21T12:29:59.000000Z')).toEqual({ kind: 'wait', delayMs: 1000 });
    expect(next(delivery, '2026-11-21T12:30:00.000000Z')).toEqual({ kind: 'attempt', attempt: 2 });
    // Named by an earlier failure, not by the last.
    const later = given(requested, started(1), failedUntil(1, '2026-11-21T13:30:00.000Z'), started(2), failed(2));
    expect(next(later, '2026-11-21T12:30:00.000000Z')).toEqual({ kind: 'attempt', attempt: 3 });
  });

  test('given an end, it is over', () => {
    expect(next(given(requested, started(1), succeeded(1)))).toEqual({ kind: 'over' });
    expect(
      next(given(requested, { type: 'DeliveryFailed', data: { attempts: 0, reason: 'webhook removed' } })),
    ).toEqual({
      kind: 'over',
    });
  });

  test('when an attempt in work ends, then its outcome is recorded', () => {
    const delivery = given(requested, started(1));
    expect(decideOutcome(delivery, 1, error500, RETRY_AT)).toEqual([failedUntil(1, RETRY_AT)]);
    expect(decideOutcome(delivery, 1, ok200, RETRY_AT)).toEqual([succeeded(1)]);
  });

  test('when the fifth attempt fails, no time of a next one is recorded', () => {
    const delivery = given(requested, ...failures(4), started(5));
    expect(decideOutcome(delivery, 5, error500, RETRY_AT)).toEqual([failed(5)]);
  });

  test('when an attempt that was taken for cut off ends after all, a success counts, a failure was counted', () => {
    const delivery = given(requested, started(1), failed(1));
    expect(decideOutcome(delivery, 1, ok200, RETRY_AT)).toEqual([succeeded(1)]);
    expect(decideOutcome(delivery, 1, error500, RETRY_AT)).toEqual([]);
  });

  test('when a delivery is over, nothing more is recorded', () => {
    const delivery = given(requested, started(1), succeeded(1));
    expect(decideOutcome(delivery, 1, ok200, RETRY_AT)).toEqual([]);
    expect(failDelivery(delivery, 'late')).toEqual([]);
  });

  test('when given up, the attempts made are told', () => {
    expect(failDelivery(given(requested, ...failures(5)), 'HTTP 500')).toEqual([
      { type: 'DeliveryFailed', data: { attempts: 5, reason: 'HTTP 500' } },
    ]);
  });

  test('a success ends it as that, and an event before the request is none of it', () => {
    expect(given(requested, started(1), succeeded(1))).toMatchObject({ outcome: 'succeeded', inFlight: undefined });
    expect(() => evolve(undefined, started(1), LATER)).toThrow('DeliveryAttemptStarted before DeliveryRequested.');
  });

  test('a failure that is in the log twice, or late, leaves the attempt in work alone', () => {
    const twice = given(requested, started(1), failed(1), failed(1));
    expect(twice.inFlight).toBeUndefined();
    const late = given(requested, started(1), failed(1), started(2), failed(1));
    expect(next(late)).toEqual({ kind: 'cut-off', attempt: 2 });
  });

  test('the reasons of all attempts are kept for the order', () => {
    const delivery = given(requested, started(1), failed(1, 'HTTP 500'), started(2), failed(2, 'no answer'));
    expect(delivery.failures).toEqual(['Attempt 1: HTTP 500', 'Attempt 2: no answer']);
  });
});

describe('whether the receiver may have it', () => {
  const failure = (more: object): DeliveryEvent => {
    const data = { attempt: 1, reason: 'no', status: 500, durationMs: 7, responseBody: null, ...more };
    return { type: 'DeliveryAttemptFailed', data };
  };
  const over: DeliveryEvent = { type: 'DeliveryFailed', data: { attempts: 1, reason: 'no' } };

  test.each<[string, DeliveryEvent[], boolean]>([
    ['it is still to be sent', [], true],
    ['it has it', [started(1), succeeded(1)], true],
    ['it answered that it has not', [started(1), failure({ status: 500 }), over], false],
    ['a gateway answered for it', [started(1), failure({ status: 504 }), over], true],
    ['there was no answer', [started(1), failure({ status: null }), over], true],
    ['nothing was sent', [started(1), failure({ status: null, notSent: true }), over], false],
    ['the webhook was removed during an attempt', [started(1), over], true],
    ['one attempt of several is uncertain', [started(1), failure({ status: null }), started(2), failed(2), over], true],
  ])('%s', (_, events, expected) => {
    expect(mayHaveArrived(given(requested, ...events))).toBe(expected);
  });

  test('what was not sent is recorded as that', () => {
    const result: AttemptResult = { ...CUT_OFF, notSent: true };
    expect(decideOutcome(given(requested, started(1)), 1, result, RETRY_AT)).toMatchObject([
      { data: { notSent: true } },
    ]);
    const cut = decideOutcome(given(requested, started(1)), 1, CUT_OFF, RETRY_AT);
    expect(cut).toMatchObject([{ data: expect.not.objectContaining({ notSent: true }) }]);
  });
});

describe('backoff', () => {
  test('by default attempts wait 0 s, 30 s, 2 min, 10 min, 1 h', () => {
    const waits = [1, 2, 3, 4, 5].map((attempt) => backoffBefore(attempt, BACKOFF_MS));
    expect(waits).toEqual([0, 30_000, 120_000, 600_000, 3_600_000]);
    expect(waits).toHaveLength(MAX_DELIVERY_ATTEMPTS);
  });

  test('fewer than five waits are those between attempts, the last repeats', () => {
    expect([1, 2, 3, 4, 5].map((attempt) => backoffBefore(attempt, [10, 20]))).toEqual([0, 10, 20, 20, 20]);
    expect([1, 2, 3, 4, 5].map((attempt) => backoffBefore(attempt, [10, 20, 30, 40]))).toEqual([0, 10, 20, 30, 40]);
    expect([1, 2].map((attempt) => backoffBefore(attempt, []))).toEqual([0, 0]);
  });

  test('five or more waits are those before each attempt, the first included', () => {
    expect([1, 2, 5].map((attempt) => backoffBefore(attempt, [10, 20, 30, 40, 50]))).toEqual([10, 20, 50]);
    expect([1, 2, 5].map((attempt) => backoffBefore(attempt, [10, 20, 30, 40, 50, 60]))).toEqual([10, 20, 50]);
  });

  test('waits vary by 20 % either way', () => {
    expect([0, 0.5, 1].map((random) => jittered(1000, random))).toEqual([800, 1000, 1200]);
  });

  test('Retry-After counts when it is longer than the backoff, up to an hour', () => {
    const delivery = given(requested, ...failures(1));
    const wait = (retryAfterMs: number) => backoffAfter(delivery, { ...error500, retryAfterMs }, BACKOFF_MS, 0.5);
    expect(wait(1000)).toBe(30_000);
    expect(wait(45_000)).toBe(45_000);
    expect(wait(100 * 3_600_000)).toBe(3_600_000);
  });
});
