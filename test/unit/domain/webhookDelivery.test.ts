/** A delivery (spec §6.4): given its events, what is done next, and what is recorded; a crash may stand between any two. */
import { settings } from '#app/config.js';
import {
  type AttemptResult,
  backoffAfter,
  type Delivery,
  decideOutcome,
  evolve,
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
const LATER = '2026-11-22T00:00:00.000000Z';
const failures = (count: number): DeliveryEvent[] =>
  Array.from({ length: count }, (_, i) => [started(i + 1), failed(i + 1)]).flat();

const retryAfter = [started(1), failedUntil(1, '2026-11-21T12:30:00.000Z')];
const removed: DeliveryEvent = { type: 'DeliveryFailed', data: { attempts: 0, reason: 'webhook removed' } };

describe('a delivery (spec §6.4): what is next', () => {
  // The events are of 12:00:01, :02 and so on.
  test.each<[string, DeliveryEvent[], string, ReturnType<typeof nextStep>]>([
    ['a request: the first attempt, at once', [], '2026-11-21T12:00:01Z', { kind: 'attempt' }],
    ['four failures: the fifth attempt', failures(4), LATER, { kind: 'attempt' }],
    ['five failures: never a sixth attempt', failures(5), LATER, { kind: 'exhausted' }],
    ['one that may still be at work', [started(1)], '2026-11-21T12:00:05Z', { kind: 'wait', delayMs: 17_000 }],
    ['one that took too long', [started(1)], '2026-11-21T12:00:22Z', { kind: 'cut-off' }],
    ['one that a crash cut off', [...failures(1), started(2)], LATER, { kind: 'cut-off' }],
    ['the fifth cut off', [...failures(4), started(5)], LATER, { kind: 'cut-off' }],
    ['a message before its time', retryAfter, '2026-11-21T12:29:59Z', { kind: 'wait', delayMs: 1000 }],
    ['a message at its time', retryAfter, '2026-11-21T12:30:00Z', { kind: 'attempt' }],
    ['a success', [started(1), succeeded(1)], LATER, { kind: 'over' }],
    ['a webhook that was removed', [removed], LATER, { kind: 'over' }],
    ['a failure that is told twice', [started(1), failed(1), failed(1)], LATER, { kind: 'attempt' }],
    [
      'a failure that is told late: the attempt at work stays',
      [started(1), failed(1), started(2), failed(1)],
      LATER,
      { kind: 'cut-off' },
    ],
  ])('%s', (_given, events, now, step) => {
    expect(nextStep(given(requested, ...events), now, 20_000)).toEqual(step);
  });
});

describe('what is recorded of an attempt that ends', () => {
  test.each<[string, DeliveryEvent[], number, AttemptResult, DeliveryEvent[]]>([
    ['a failure: until when is waited', [started(1)], 1, error500, [failedUntil(1, RETRY_AT)]],
    ['the fifth failure: nothing is waited for', [...failures(4), started(5)], 5, error500, [failed(5)]],
    ['a success', [started(1)], 1, ok200, [succeeded(1)]],
    ['a success of one that was taken for cut off', [started(1), failed(1)], 1, ok200, [succeeded(1)]],
    ['a failure of one that was taken for cut off', [started(1), failed(1)], 1, error500, []],
    ['a second success', [started(1), succeeded(1)], 1, ok200, []],
  ])('%s', (_what, events, attempt, result, recorded) => {
    expect(decideOutcome(given(requested, ...events), attempt, result, RETRY_AT)).toEqual(recorded);
  });
});

describe('backoff', () => {
  test.each<[string, readonly number[], readonly number[]]>([
    ['by default', BACKOFF_MS, [30_000, 120_000, 600_000, 3_600_000]],
    ['the last repeats', [10, 20], [10, 20, 20, 20]],
  ])('%s', (_what, waits, after) => {
    expect([1, 2, 3, 4].map((started) => backoffAfter({ started }, error500, waits, 0.5))).toEqual(after);
  });

  test('waits vary by 20 % either way', () => {
    expect([0, 0.5, 1].map((random) => backoffAfter({ started: 1 }, error500, [1000], random))).toEqual([
      800, 1000, 1200,
    ]);
  });

  test('Retry-After counts when it is longer than the backoff, up to an hour', () => {
    const delivery = given(requested, ...failures(1));
    const wait = (retryAfterMs: number) => backoffAfter(delivery, { ...error500, retryAfterMs }, BACKOFF_MS, 0.5);
    expect(wait(1000)).toBe(30_000);
    expect(wait(45_000)).toBe(45_000);
    expect(wait(100 * 3_600_000)).toBe(3_600_000);
  });
});
