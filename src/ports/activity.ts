/** Activity in the read models: one entry for each event that somebody asked for, or that the service did by itself. */
import type { Activity, ActivityKind } from '../domain/activity.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { EventMetadata, Position, Revision } from './eventStore.js';

/** An entry's place in the order of entries: by time, then by place in the log. Events of one append may share a position. */
export type ActivityPlace = { readonly at: string; readonly position: Position; readonly revision: Revision };

export type ActivityEntry = Activity &
  ActivityPlace & {
    readonly eventId: string;
    /** With the name at that time, unless an earlier release wrote the event. */
    readonly actor: { readonly kind: string; readonly id: string; readonly name?: string };
    readonly correlationId: string;
    readonly causationId: string;
    readonly request?: EventMetadata['request'];
  };

/** All that are set must hold. */
export type ActivityFilters = {
  /** Id of the client, user, operator or part of the service. */
  readonly actor?: string | undefined;
  readonly kind?: ActivityKind | undefined;
  readonly table?: string | undefined;
  readonly subject?: NonNullable<Activity['subject']> | undefined;
  readonly orderId?: string | undefined;
  readonly correlationId?: string | undefined;
};

export type ActivityQuery = {
  readonly filters: ActivityFilters;
  /** At this time or later; ISO 8601. */
  readonly from?: string | undefined;
  /** At this time or before. */
  readonly to?: string | undefined;
  /** Only entries before this one, which are older. */
  readonly before?: ActivityPlace | undefined;
  readonly limit: number;
};

export type ActivityPage = {
  /** Newest first. */
  readonly entries: readonly ActivityEntry[];
  /**
   * Set if the search ended before it had found `limit` entries or seen all: with several filters it looks at
   * MAX_ACTIVITY_SEARCHED entries that pass one of them. It goes on before this place.
   */
  readonly searchedTo?: ActivityPlace | undefined;
};

export interface ActivityReads {
  activity(tenant: string, query: ActivityQuery, cancellation?: Cancellation): Promise<ActivityPage>;
}
