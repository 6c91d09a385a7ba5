/** The activity of a tenant: rows of its space, the newest first. Positions decide what comes before what, never clocks. */
import type { Activity } from '../domain/activity.js';
import { ERASED } from '../domain/assetTypes/fieldTypes.js';
import type { Erasures } from '../domain/erasure.js';
import { ACTIVITY_KINDS, type ActivityKind } from '../domain/eventTypes.js';
import { MAX_ACTIVITY_SEARCHED } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { EventMetadata, Position, Revision } from '../ports/eventStore.js';
import type { Condition, PageQuery, RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, NEWEST_FIRST, rowsOf, told, where } from './asking.js';
import { historyOf } from './past.js';
import type { Tenants } from './records.js';

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
    /** Its number in the order of the log. */
    readonly n: number;
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
  /** At this time or later, and at that time or before: ISO 8601, UTC, six digits. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Only entries before this one, which are older. */
  readonly before?: ActivityPlace | undefined;
  readonly limit: number;
};

export type ActivityPage = {
  /** Newest first. */
  readonly entries: readonly ActivityEntry[];
  /**
   * Set if the search ended before it had found `limit` entries or seen all: it looks at MAX_ACTIVITY_SEARCHED changes of a
   * record. It goes on before this place.
   */
  readonly searchedTo?: ActivityPlace | undefined;
};

export const entryOf = (row: StoredRow): ActivityEntry => ({
  ...told<Omit<ActivityEntry, 'at' | 'eventId' | 'n'>>(row),
  at: row.created,
  eventId: row.id,
  n: row.n,
});

/** Entries in the order of the log, or the newest first. @throws the cancellation's reason */
export async function* entriesOf(
  rows: RowReads,
  tenant: string,
  asked: Partial<PageQuery>,
  cancellation: Cancellation | undefined,
): AsyncGenerator<ActivityEntry, undefined> {
  for await (const row of rowsOf(rows, { tenant, space: ACTIVITY.name }, asked, cancellation)) yield entryOf(row);
}

/** The newest entry for which all hold. */
export const newestEntry = async (
  rows: RowReads,
  tenant: string,
  conditions: readonly Condition[],
  cancellation: Cancellation | undefined,
): Promise<ActivityEntry | undefined> =>
  (await entriesOf(rows, tenant, { ...NEWEST_FIRST, conditions, limit: 1 }, cancellation).next()).value;

export class ActivityQueries {
  readonly #rows: RowReads;
  readonly #tenants: Tenants;
  readonly #erasures: Erasures | undefined;

  constructor(rows: RowReads, tenants: Tenants, erasures: Erasures | undefined) {
    this.#rows = rows;
    this.#tenants = tenants;
    this.#erasures = erasures;
  }

  async page(tenant: string, query: ActivityQuery, cancellation?: Cancellation): Promise<ActivityPage> {
    const { filters, from, to, before, limit } = query;
    const { positions = [], searchedTo } = await this.#changesOf(tenant, query, cancellation);
    const start = before && (await this.#startBefore(tenant, before));
    const position = { gte: searchedTo?.position, lte: start?.until };
    const within = where({ created_at: { gte: from, lte: to }, position });
    // Each is found by an index of its own, which one question for both would not be.
    const found = await Promise.all(
      alternatives(filters, positions).map(async (conditions) => {
        const asked = { ...ALL_ROWS, ...NEWEST_FIRST, conditions: [...conditions, ...within], limit, behind: start?.n };
        return (await this.#rows.page({ tenant, space: ACTIVITY.name }, asked, cancellation)).rows;
      }),
    );
    const newest = found.flat().sort((a, b) => b.n - a.n);
    const entries = newest.slice(0, limit).map((row) => this.#shown(tenant, entryOf(row)));
    return { entries, searchedTo: entries.length === limit ? undefined : searchedTo };
  }

  /** The number of the entry there, or else the last position before it. */
  async #startBefore(tenant: string, { position, revision }: ActivityPlace) {
    const asked = { conditions: where({ position, revision: { gte: revision } }), limit: 1 };
    const { value: entry } = await entriesOf(this.#rows, tenant, asked, undefined).next();
    return entry === undefined ? { until: position } : { n: entry.n };
  }

  /** Positions of the changes of a record, the newest first: batches and clean-ups name no single records. */
  async #changesOf(
    tenant: string,
    { filters: { subject, table }, before }: ActivityQuery,
    cancellation: Cancellation | undefined,
  ): Promise<{ readonly positions?: readonly Position[]; readonly searchedTo?: ActivityPlace }> {
    if (subject?.kind !== 'record') return {};
    const asked = { id: subject.id.toLowerCase(), until: before && before.position + 1, atOnce: 1_000 };
    const positions = new Set<Position>();
    for (const space of table === undefined ? (this.#tenants.tenant(tenant)?.assetTypes.keys() ?? []) : [table]) {
      for await (const { place, before: was, after: is } of historyOf(
        this.#rows,
        { tenant, space },
        asked,
        cancellation,
      )) {
        const [position] = place;
        positions.add(position);
        if (positions.size <= MAX_ACTIVITY_SEARCHED) continue;
        return { positions: [...positions], searchedTo: { at: (is ?? was)?.updated ?? '', position, revision: 0 } };
      }
    }
    return { positions: [...positions] };
  }

  /** The entry of a user's addition without the name, if that is erased. Names of actors are left out where they are shown. */
  #shown(tenant: string, entry: ActivityEntry): ActivityEntry {
    const { kind, subject, details } = entry;
    if (kind !== 'user.added' || this.#erasures?.isErasedUser(tenant, subject?.id ?? '') !== true) return entry;
    return { ...entry, details: { ...details, name: ERASED } };
  }
}

/** Ids are found whatever their case: they are stored as the event has them. */
const inAnyCase = (id: string | undefined): readonly string[] | undefined =>
  id === undefined ? undefined : [...new Set([id, id.toLowerCase(), id.toUpperCase()])];

/** Entries that name the subject; and those of its changes that name none, as an event of the same append may name another. */
function alternatives(
  { actor, kind, table, subject, orderId, correlationId }: ActivityFilters,
  changes: readonly Position[],
): readonly (readonly Condition[])[] {
  const [actor_id, order_id, correlation_id] = [actor, orderId, correlationId].map(inAnyCase);
  const named = { kind, table, actor_id, order_id, correlation_id };
  const ofSubject = where({ ...named, subject_kind: subject?.kind, subject_id: inAnyCase(subject?.id) });
  if (changes.length === 0) return [ofSubject];
  const namesNone: Condition = { kind: 'null', field: 'subject_id', isNull: true };
  return [ofSubject, [...where({ ...named, position: changes }), namesNone]];
}

/** Kinds of events in the stream of an order. Exports of it by people are in another stream. */
const OF_ORDERS = ACTIVITY_KINDS.filter((kind) => kind.startsWith('order.') && kind !== 'order.exported');

/** Revision of the order's last event up to a position; undefined before its first. */
export async function orderRevisionAt(
  rows: RowReads,
  tenant: string,
  orderId: string,
  position: Position,
  cancellation: Cancellation | undefined,
): Promise<Revision | undefined> {
  const conditions = where({ order_id: orderId, kind: OF_ORDERS, position: { lte: position } });
  return (await newestEntry(rows, tenant, conditions, cancellation))?.revision;
}
