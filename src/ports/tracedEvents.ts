/** Which trace a stored event belongs to: its metadata has the `traceparent` of the span in which it was created. */
import type { EventToAppend } from './eventStore.js';

/**
 * Work on an event later than this after its creation adds nothing to its trace. Otherwise a rebuild would fill old traces
 * with spans that no request waited for.
 */
const TRACED_FOR_MS = 3_600_000;

type OfTrace = Pick<EventToAppend, 'metadata'>;

/** Whether work on a stored event adds to its trace. @param now milliseconds since 1970 */
export const isTraced = ({ metadata: { traceparent, occurredAt } }: OfTrace, now: number): boolean =>
  traceparent !== undefined && now - Date.parse(occurredAt) <= TRACED_FOR_MS;

/** Number of events by `traceparent`; events without one are left out. */
export function countByTrace(events: Iterable<OfTrace>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const { metadata } of events) {
    const { traceparent } = metadata;
    if (traceparent !== undefined) counts.set(traceparent, (counts.get(traceparent) ?? 0) + 1);
  }
  return counts;
}
