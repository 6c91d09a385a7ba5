/** The furthest event of the log that was projected, as it is stored. */
import type { LogAnchor } from '../../../../ports/eventStore.js';

export const PLACE = 'SELECT log, position, event_id FROM log_anchor';
export type PlaceRow = { readonly log: string | null; readonly position: number; readonly event_id: string | null };

export const placeOf = (row: PlaceRow | undefined): LogAnchor | undefined =>
  row && { log: row.log ?? undefined, position: row.position, eventId: row.event_id ?? undefined };
