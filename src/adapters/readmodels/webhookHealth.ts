/** How a webhook is doing, kept up with each entry of its delivery log. */
import type { DeliveryLogEntry, WebhookHealth } from '../../ports/deliveryLog.js';

export const UNTRIED: WebhookHealth = { lastSuccessAt: null, failingSince: null };

/** After one more state of an entry. The same entry again, or an earlier state of it, changes nothing. */
export function healthAfter(health: WebhookHealth, entry: DeliveryLogEntry): WebhookHealth {
  const lastSuccessAt = later(health.lastSuccessAt, entry.state === 'succeeded' ? entry.endedAt : null);
  const failures = [health.failingSince, ...entry.attempts.map((each) => (each.reason === null ? null : each.endedAt))]
    .filter((at) => at !== null)
    .filter((at) => lastSuccessAt === null || at > lastSuccessAt);
  return { lastSuccessAt, failingSince: failures.sort()[0] ?? null };
}

const later = (one: string | null, other: string | null): string | null =>
  one === null || (other !== null && other > one) ? other : one;
