import type { HistoryEntry } from '../../ports/readModels.js';

/** A line of an order's history as the API shows it. */
export const historyView = (entry: HistoryEntry) => ({
  id: entry.eventId,
  event: entry.eventType,
  occurred_at: entry.at,
  actor: entry.actor,
  status_from: entry.statusFrom,
  status_to: entry.statusTo,
  reasons: entry.reasons,
  changes: entry.changes,
  revision: entry.revision,
  position: entry.position,
  correlation_id: entry.correlationId,
  causation_id: entry.causationId,
});
