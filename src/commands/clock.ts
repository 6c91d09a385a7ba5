/** Time with microseconds, and ids that sort by time. */
import { v7 } from 'uuid';

/** Milliseconds since the epoch with a fraction; steps of a microsecond or less. */
const nowMs = (): number => performance.timeOrigin + performance.now();

let lastMicros = 0;

/** Now, `2026-11-21T03:11:47.123456Z`. Follows the machine's clock, but never goes backwards within this process. */
export function now(): string {
  const drift = Date.now() - nowMs();
  const micros = Math.floor((Math.abs(drift) > 50 ? Date.now() : nowMs()) * 1000);
  lastMicros = Math.max(lastMicros, micros);
  const millis = Math.floor(lastMicros / 1000);
  return `${new Date(millis).toISOString().slice(0, 23)}${String(lastMicros % 1000).padStart(3, '0')}Z`;
}

/** UUID version 7 (RFC 9562 §5.7); within a process each is greater than the one before. */
export const newId = (): string => v7();
