/** The activity of a tenant: rows of its space, the newest first. Positions decide what comes before what, never clocks. */

import type { Activity } from '../domain/activity.js';
import { ERASED, normalizeDateTime } from '../domain/assetTypes/fieldTypes.js';
import type { Erasures } from '../domain/erasure.js';
import { ACTIVITY_KINDS, type ActivityKind } from '../domain/eventTypes.js';
import { MAX_ACTIVITY_SEARCHED } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { EventMetadata, EventStore, Position, Revision } from '../ports/eventStore.js';
import type { Condition, PageQuery, RowReads, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, NEWEST_FIRST, readerOf, rowsOf, where } from './asking.js';
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
   * Set if the search ended before it had found `limit` entries or seen all: it looks at MAX_ACTIVITY_SEARCHED changes of a
   * record. It goes on before this place.
   */
  readonly searchedTo?: ActivityPlace | undefined;
};

const SPACE = ACTIVITY.name;
const fieldsIn = readerOf<Omit<ActivityEntry, 'at' | 'eventId'>>(ACTIVITY, {
  json: ['request', 'counts', 'fields', 'details'],
  groups: ['actor', 'subject'],
});

export const entryOf = ({ id, created, data }: StoredRow): ActivityEntry => ({
  at: created,
  eventId: id,
  ...fieldsIn(data),
});

/** Entries in the order of the log, or the newest first. @throws the cancellation's reason */
export async function* entriesOf(
  rows: RowReads,
  tenant: string,
  asked: Partial<PageQuery>,
  cancellation: Cancellation | undefined,
): AsyncGenerator<ActivityEntry & { readonly n: number }> {
  for await (const row of rowsOf(rows, { tenant, space: SPACE }, asked, cancellation))
    yield { ...entryOf(row), n: row.n };
}

/** The newest entry for which all hold. */
async function newestEntry(
  rows: RowReads,
  tenant: string,
  conditions: readonly Condition[],
  cancellation: Cancellation | undefined,
): Promise<ActivityEntry | undefined> {
  const asked = { ...ALL_ROWS, ...NEWEST_FIRST, conditions, limit: 1 };
  return (await rows.page({ tenant, space: SPACE }, asked, cancellation)).rows.map(entryOf)[0];
}

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
    const [gte, lte] = [from, to].map((time) => time && (normalizeDateTime(time) ?? time));
    const start = before === undefined ? {} : await this.#startBefore(tenant, before);
    const within = where({}, { created_at: { gte, lte }, position: { gte: searchedTo?.position, lte: start.until } });
    // Each is found by an index of its own, which one question for both would not be.
    const found = await Promise.all(
      alternatives(filters, positions).map(async (conditions) => {
        const asked = { ...ALL_ROWS, ...NEWEST_FIRST, conditions: [...conditions, ...within], limit, behind: start.n };
        return (await this.#rows.page({ tenant, space: SPACE }, asked, cancellation)).rows;
      }),
    );
    const newest = found.flat().sort((a, b) => b.n - a.n);
    const entries = newest.slice(0, limit).map((row) => this.#shown(tenant, entryOf(row)));
    return { entries, searchedTo: entries.length === limit ? undefined : searchedTo };
  }

  /** The number of the entry there, or else the last position before it. */
  async #startBefore(
    tenant: string,
    { position, revision }: ActivityPlace,
  ): Promise<{ readonly n?: number; readonly until?: Position }> {
    const asked = { ...ALL_ROWS, conditions: where({ position }, { revision: { gte: revision } }), limit: 1 };
    const [row] = (await this.#rows.page({ tenant, space: SPACE }, asked)).rows;
    return row === undefined ? { until: position } : { n: row.n };
  }

  /** Positions of the changes of a record, the newest first: batches and clean-ups name no single records. */
  async #changesOf(
    tenant: string,
    { filters: { subject, table }, before }: ActivityQuery,
    cancellation: Cancellation | undefined,
  ): Promise<{ readonly positions?: readonly Position[]; readonly searchedTo?: ActivityPlace }> {
    if (subject?.kind !== 'record') return {};
    const tables = table === undefined ? [...(this.#tenants.tenant(tenant)?.assetTypes.keys() ?? [])] : [table];
    const id = subject.id.toLowerCase();
    const last = { id, direction: 'desc', limit: 1, withTotal: false } as const;
    const found = await Promise.all(tables.map((space) => this.#rows.versions({ tenant, space }, last, cancellation)));
    const space = tables.find((_, index) => found[index]?.versions.length === 1);
    if (space === undefined) return {};
    const positions = new Set<Position>();
    const until = before && before.position + 1;
    for await (const change of historyOf(this.#rows, { tenant, space }, { id, until, atOnce: 1_000 }, cancellation)) {
      const [position] = change.place;
      positions.add(position);
      if (positions.size > MAX_ACTIVITY_SEARCHED) {
        const at = (change.after ?? change.before)?.updated ?? '';
        return { positions: [...positions], searchedTo: { at, position, revision: 0 } };
      }
    }
    return { positions: [...positions] };
  }

  /** The entry without what is erased: names of users. */
  #shown(tenant: string, entry: ActivityEntry): ActivityEntry {
    const erasures = this.#erasures;
    if (erasures === undefined || erasures.count === 0) return entry;
    const actor = erasures.actor(tenant, entry.actor);
    const { kind, subject, details } = entry;
    const isAdded = kind === 'user.added' && subject !== undefined && erasures.isErasedUser(tenant, subject.id);
    return isAdded ? { ...entry, actor, details: { ...details, name: ERASED } } : { ...entry, actor };
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
  const ids = {
    actor_id: inAnyCase(actor),
    order_id: inAnyCase(orderId),
    correlation_id: inAnyCase(correlationId),
    subject_id: inAnyCase(subject?.id),
  };
  const named = where({ kind, table, ...ids, subject_kind: subject?.kind });
  if (changes.length === 0) return [named];
  const namesNone: Condition = { kind: 'null', field: 'subject_id', isNull: true };
  return [named, [...where({ kind, table, ...ids, subject_id: undefined, position: changes }), namesNone]];
}

/** The revision of the last approval of each of these orders that has one, by order id. */
export async function latestApprovals(
  rows: RowReads,
  tenant: string,
  orderIds: readonly string[],
  cancellation?: Cancellation,
): Promise<ReadonlyMap<string, Revision>> {
  const latest = new Map<string, Revision>();
  if (orderIds.length === 0) return latest;
  const asked = { ...NEWEST_FIRST, conditions: where({ kind: 'order.approved', order_id: orderIds }) };
  for await (const { orderId = '', revision } of entriesOf(rows, tenant, asked, cancellation)) {
    if (!latest.has(orderId)) latest.set(orderId, revision);
    if (latest.size === orderIds.length) break;
  }
  return latest;
}

/** Position of the tenant's last event that is not after this time (ISO 8601, UTC, six digits); 0 if there is none. */
export async function positionAt(
  rows: RowReads,
  log: Pick<EventStore, 'positionAt'>,
  tenant: string,
  time: string,
  cancellation: Cancellation | undefined,
): Promise<Position> {
  if (log.positionAt !== undefined) return log.positionAt(time);
  return (await newestEntry(rows, tenant, where({}, { created_at: { lte: time } }), cancellation))?.position ?? 0;
}

const OF_ORDERS = ACTIVITY_KINDS.filter((kind) => kind.startsWith('order.'));

/** Revision of the order's last event up to a position; undefined before its first. */
export async function orderRevisionAt(
  rows: RowReads,
  tenant: string,
  orderId: string,
  position: Position,
  cancellation: Cancellation | undefined,
): Promise<Revision | undefined> {
  const conditions = where({ order_id: orderId, kind: OF_ORDERS }, { position: { lte: position } });
  return (await newestEntry(rows, tenant, conditions, cancellation))?.revision;
}
