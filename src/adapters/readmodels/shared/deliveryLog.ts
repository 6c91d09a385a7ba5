/** Values stored beside the entries of a delivery log: times as numbers, and the health of each webhook. */
import type { DeliveryLogEntry, WebhookHealth } from '../../../ports/deliveryLog.js';

/** Microseconds since 1970 of an ISO 8601 time in any zone, with up to six digits of a second's fraction. */
export function instant(time: string): number {
  // Date.parse goes no further than milliseconds.
  const beyondMillis = /\.\d{3}(\d{1,3})/.exec(time)?.[1] ?? '';
  return Date.parse(time) * 1000 + Number(beyondMillis.padEnd(3, '0'));
}

export const UNTRIED: WebhookHealth = { lastSuccessAt: null, failingSince: null };

/** The health after one more state of an entry. The same state again, or an earlier one, changes nothing. */
export function healthAfter(health: WebhookHealth, entry: DeliveryLogEntry): WebhookHealth {
  const lastSuccessAt = later(health.lastSuccessAt, entry.state === 'succeeded' ? entry.endedAt : null);
  const failures = [health.failingSince, ...entry.attempts.map((each) => (each.reason === null ? null : each.endedAt))]
    .filter((at) => at !== null)
    .filter((at) => lastSuccessAt === null || at > lastSuccessAt);
  return { lastSuccessAt, failingSince: failures.sort()[0] ?? null };
}

const later = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;
