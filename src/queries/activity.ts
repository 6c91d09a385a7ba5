/** The activity of a tenant: rows of its space, the newest first. Positions decide what comes before what, never clocks. */
import type { Activity, ActivityKind, SubjectKind } from '../domain/activity.js';
import { normalizeDateTime } from '../domain/assetTypes/fieldTypes.js';
import { ERASED, type Erasures } from '../domain/erasure.js';
import { MAX_ACTIVITY_SEARCHED } from '../domain/limits.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { EventMetadata, Position, Revision } from '../ports/eventStore.js';
import type { Condition, FieldCondition, RowReads, StoredRow, StoredVersion } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { ALL_ROWS, type AskedRows, compares, isOneOf, rowsOf } from './asking.js';
import { statesOf } from './past.js';
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

const NEWEST_FIRST = [{ field: 'n', direction: 'desc' }] as const;

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
    const changes = filters.subject?.kind === 'record' ? await this.#changesOf(tenant, query, cancellation) : undefined;
    const start = before === undefined ? {} : await this.#startBefore(tenant, before);
    const place = [
      ...timeCondition('gte', from),
      ...timeCondition('lte', to),
      ...(start.conditions ?? []),
      ...(changes?.searchedTo === undefined ? [] : [compares('position', 'gte', changes.searchedTo.position)]),
    ];
    const pageOf = async (conditions: readonly Condition[]) => {
      const asked = { ...ALL_ROWS, sort: NEWEST_FIRST, conditions: [...conditions, ...place], limit, behind: start.n };
      return (await this.#rows.page({ tenant, space: ACTIVITY.name }, asked, cancellation)).rows;
    };
    // Each is found by an index of its own, which one question for both would not be.
    const found = await Promise.all(alternatives(filters, changes?.positions ?? []).map(pageOf));
    const rows = found
      .flat()
      .sort((a, b) => b.n - a.n)
      .slice(0, limit);
    const entries = rows.map((row) => this.#shown(tenant, entryOf(row)));
    return entries.length === limit || changes?.searchedTo === undefined
      ? { entries }
      : { entries, searchedTo: changes.searchedTo };
  }

  /** Events of one append share a position. */
  async #startBefore(
    tenant: string,
    { position, revision }: ActivityPlace,
  ): Promise<{ readonly n?: number | undefined; readonly conditions?: readonly Condition[] }> {
    const conditions = [isOneOf('position', [position]), compares('revision', 'gte', revision)];
    for await (const { n } of entriesOf(this.#rows, tenant, { conditions, direction: 'asc' }, undefined, 1))
      return { n };
    return { conditions: [compares('position', 'lte', position)] };
  }

  /**
   * Positions of the changes of a record, also of those by a batch or a clean-up, which name no single records. The newest
   * first; `searchedTo` is set if there are older ones.
   */
  async #changesOf(
    tenant: string,
    { filters: { subject, table }, before, limit }: ActivityQuery,
    cancellation: Cancellation | undefined,
  ): Promise<{ readonly positions: readonly Position[]; readonly searchedTo?: ActivityPlace }> {
    const tables = table === undefined ? [...(this.#tenants.tenant(tenant)?.assetTypes.keys() ?? [])] : [table];
    const id = subject?.id.toLowerCase();
    const last = { id, direction: 'desc', limit: 1, withTotal: false } as const;
    const found = await Promise.all(tables.map((space) => this.#rows.versions({ tenant, space }, last)));
    const space = tables.find((_, index) => found[index]?.versions.length === 1);
    const positions = new Set<Position>();
    if (space === undefined) return { positions: [] };
    for await (const state of statesOf(
      this.#rows,
      { tenant, space },
      { id, direction: 'desc' },
      cancellation,
      MAX_ACTIVITY_SEARCHED,
    )) {
      const { from, to, how } = state;
      for (const position of how === 'deleted' ? [to, from] : [from])
        if (position !== undefined && position <= (before?.position ?? position)) positions.add(position);
      if (positions.size > Math.max(limit, MAX_ACTIVITY_SEARCHED))
        return { positions: [...positions], searchedTo: placeOf(state) };
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

const placeOf = ({ from, updated }: StoredVersion): ActivityPlace => ({ at: updated, position: from, revision: 0 });

/** The revision of the last approval of each of these orders that has one, by order id. */
export async function latestApprovals(
  rows: RowReads,
  tenant: string,
  orderIds: readonly string[],
  cancellation?: Cancellation,
): Promise<ReadonlyMap<string, Revision>> {
  const latest = new Map<string, Revision>();
  if (orderIds.length === 0) return latest;
  const conditions = [isOneOf('kind', ['order.approved']), isOneOf('order_id', orderIds)];
  const asked = { conditions, direction: 'desc' } as const;
  for await (const { orderId = '', revision } of entriesOf(rows, tenant, asked, cancellation)) {
    if (!latest.has(orderId)) latest.set(orderId, revision);
    if (latest.size === orderIds.length) break;
  }
  return latest;
}

const timeCondition = (is: 'gte' | 'lte', time: string | undefined): readonly Condition[] =>
  time === undefined ? [] : [compares('created_at', is, normalizeDateTime(time) ?? time)];

export const ofTable = (table: string): FieldCondition => isOneOf('table', [table]);

/** Ids are found whatever their case: they are stored as the event has them. */
const idIs = (field: string, id: string): FieldCondition =>
  isOneOf(field, [...new Set([id, id.toLowerCase(), id.toUpperCase()])]);

/** Entries that name the subject; and those of its changes that name none, as an event of the same append may name another. */
function alternatives(
  { actor, kind, table, subject, orderId, correlationId }: ActivityFilters,
  changes: readonly Position[],
): readonly (readonly Condition[])[] {
  const others = [
    ...(actor === undefined ? [] : [idIs('actor_id', actor)]),
    ...(kind === undefined ? [] : [isOneOf('kind', [kind])]),
    ...(table === undefined ? [] : [ofTable(table)]),
    ...(orderId === undefined ? [] : [idIs('order_id', orderId)]),
    ...(correlationId === undefined ? [] : [idIs('correlation_id', correlationId)]),
  ];
  if (subject === undefined) return [others];
  const named = [isOneOf('subject_kind', [subject.kind]), idIs('subject_id', subject.id), ...others];
  if (changes.length === 0) return [named];
  const namesNone: FieldCondition = { kind: 'null', field: 'subject_id', isNull: true };
  return [named, [isOneOf('position', changes), namesNone, ...others]];
}

/** Members that are objects are JSON text. */
type StoredActivity = {
  readonly position: Position;
  readonly revision: Revision;
  readonly kind: ActivityKind;
  readonly table?: string;
  readonly order_id?: string;
  readonly subject_kind?: SubjectKind;
  readonly subject_id?: string;
  readonly actor_kind: string;
  readonly actor_id: string;
  readonly actor_name?: string;
  readonly correlation_id: string;
  readonly causation_id: string;
  readonly request?: string;
  readonly counts?: string;
  readonly fields?: string;
  readonly details?: string;
};

/** Entries in the order of the log. @throws the cancellation's reason */
export async function* entriesOf(
  rows: RowReads,
  tenant: string,
  asked: AskedRows,
  cancellation: Cancellation | undefined,
  limit?: number,
): AsyncGenerator<ActivityEntry & { readonly n: number }> {
  for await (const row of rowsOf(rows, { tenant, space: ACTIVITY.name }, asked, cancellation, limit)) {
    yield { ...entryOf(row), n: row.n };
  }
}

export function entryOf({ id, created, data }: StoredRow): ActivityEntry {
  const stored: StoredActivity = JSON.parse(data);
  const { subject_kind: kind, subject_id: subjectId, actor_name: name, table, order_id: orderId } = stored;
  const parsed = <Name extends 'request' | 'counts' | 'fields' | 'details'>(
    member: Name,
  ): Pick<ActivityEntry, Name> | undefined => {
    const text = stored[member];
    return text === undefined ? undefined : ({ [member]: JSON.parse(text) } as Pick<Activity & ActivityEntry, Name>);
  };
  return {
    at: created,
    position: stored.position,
    revision: stored.revision,
    kind: stored.kind,
    eventId: id,
    actor: { kind: stored.actor_kind, id: stored.actor_id, ...(name === undefined ? {} : { name }) },
    correlationId: stored.correlation_id,
    causationId: stored.causation_id,
    ...parsed('request'),
    ...(table === undefined ? {} : { table }),
    ...(kind === undefined || subjectId === undefined ? {} : { subject: { kind, id: subjectId } }),
    ...(orderId === undefined ? {} : { orderId }),
    ...parsed('counts'),
    ...parsed('fields'),
    ...parsed('details'),
  };
}
