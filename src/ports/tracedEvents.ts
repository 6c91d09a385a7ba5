/** Which trace a stored event belongs to: its metadata has the `traceparent` of the span in which it was created. */
import type { EventToAppend } from './eventStore.js';

/**
 * Work on an event later than this after its creation adds nothing to its trace. Otherwise a rebuild would fill old traces
 * with spans that no request waited for.
 */
const TRACED_FOR_MS = 3_600_000;

/** Whether work on a stored event adds to its trace. @param now milliseconds since 1970 */
export const isTraced = (
  { metadata: { traceparent, occurredAt } }: Pick<EventToAppend, 'metadata'>,
  now: number,
): boolean => traceparent !== undefined && now - Date.parse(occurredAt) <= TRACED_FOR_MS;
