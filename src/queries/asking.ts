/** How rows are asked for: within a request, by conditions and a sort, page by page; and what they hold. */
import { ALWAYS_SORTABLE, type AssetType, type RecordView, recordView } from '../domain/assetTypes/assetType.js';
import { type Fields, isStorableText, isUuid } from '../domain/assetTypes/fieldTypes.js';
import { foldCase } from '../domain/spaces.js';
import type { Condition, FieldCondition, PageQuery, RowReads, Sort, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';

/** What is asked of rows. */
export type Rows = Pick<RowReads, 'rows' | 'page' | 'versions'>;

/** The rows for one request: once it is cancelled, each read ends soon and rejects with the reason. */
export function cancellable(rows: Rows, cancellation: Cancellation | undefined): Rows {
  const within =
    <Query, Answer>(read: (space: SpaceRef, query: Query, cancellation?: Cancellation) => Promise<Answer>) =>
    async (space: SpaceRef, query: Query): Promise<Answer> => {
      cancellation?.throwIfCancelled();
      return read.call(rows, space, query, cancellation);
    };
  return { rows: within(rows.rows), page: within(rows.page), versions: within(rows.versions) };
}

/** All rows in the order of creation, however long they are. */
export const ALL_ROWS: PageQuery = {
  conditions: [],
  sort: [{ field: 'n', direction: 'asc' }],
  offset: 0,
  limit: 2 ** 31 - 1,
  withTotal: false,
  maxCharacters: Number.MAX_SAFE_INTEGER,
};

export const NEWEST_FIRST = { sort: [{ field: 'n', direction: 'desc' }] } as const satisfies Partial<PageQuery>;

type Value = string | number;
/** The value of a field, several of which it has one, or bounds of it as rows are sorted by it. */
type Wanted = Value | readonly Value[] | { readonly [is in (typeof COMPARISONS)[number]]?: Value | undefined };

/** Conditions that all must hold; undefined ones are left out. */
export const where = (wanted: { readonly [field: string]: Wanted | undefined }): readonly FieldCondition[] =>
  Object.entries(wanted).flatMap(([field, wants]): readonly FieldCondition[] => {
    if (wants === undefined) return [];
    if (typeof wants !== 'object') return [{ kind: 'equals', field, anyOf: [wants] }];
    if ('length' in wants) return [{ kind: 'equals', field, anyOf: wants }];
    return COMPARISONS.flatMap((is) => {
      const value = wants[is];
      return value === undefined ? [] : [{ kind: 'compares', field, is, value }];
    });
  });

const ROWS_AT_ONCE = 200;

/** All rows that are asked for, by their numbers. @param asked `limit`: rows that are read at once */
export async function* rowsOf(
  rows: Rows,
  space: SpaceRef,
  { limit = ROWS_AT_ONCE, ...asked }: Partial<PageQuery>,
): AsyncGenerator<StoredRow, undefined> {
  for (let { behind } = asked; ; ) {
    const page = await rows.page(space, { ...ALL_ROWS, ...asked, behind, limit });
    yield* page.rows;
    if (page.rows.length < limit) return;
    behind = page.rows.at(-1)?.n;
  }
}

/** Takes entries of a page while they are no more than this, and no larger together; it takes one at least. */
export function roomFor(entries: number, size: number): (size: number) => boolean {
  let [taken, used] = [0, 0];
  return (next) => {
    taken += 1;
    used += next;
    return taken === 1 || (taken <= entries && used <= size);
  };
}

// Filters and sorts of lists, once for all engines: folding and ids. Values are of the types of their fields.

/** A test of one field as a caller gives it: texts are literal and not folded yet, ids have any case. */
export type FieldFilter = Exclude<FieldCondition, { readonly kind: 'ids' }>;

export type Filter =
  | FieldFilter
  /** At least one of these holds. */
  | { readonly kind: 'any'; readonly anyOf: readonly FieldFilter[] };

export const COMPARISONS = ['gt', 'gte', 'lt', 'lte'] as const;

const LOWEST_ID = '00000000-0000-0000-0000-000000000000';
/** No id is above the highest and below the lowest. */
const NONE: FieldCondition = { kind: 'ids', from: LOWEST_ID.replaceAll('0', 'f'), to: LOWEST_ID };

export const conditionsOf = (filters: readonly Filter[]): readonly Condition[] =>
  filters.map((filter) => {
    const anyOf = (filter.kind === 'any' ? filter.anyOf : [filter]).flatMap(alternativesOf);
    const [first = NONE] = anyOf;
    return anyOf.length > 1 ? { kind: 'any', anyOf } : first;
  });

/** One of these holds; none: nothing is selected. */
function alternativesOf(filter: FieldFilter): readonly FieldCondition[] {
  const { kind, field } = filter;
  if (kind === 'equals' && field === 'id') {
    const ids = filter.anyOf.flatMap((text) => storedId(String(text)) ?? []);
    return ids.map((id) => ({ kind: 'ids', from: id, to: id }));
  }
  if (kind === 'contains') {
    // Stored texts never contain a text that cannot be stored.
    const anyOf = [...new Set(filter.anyOf.filter(isStorableText).map(foldCase))];
    return anyOf.length === 0 ? [] : [{ ...filter, anyOf }];
  }
  const isTime = ALWAYS_SORTABLE.some((name) => name === field);
  if (kind === 'compares' && typeof filter.value === 'string' && !isTime)
    return [{ ...filter, value: foldCase(filter.value) }];
  return [filter];
}

/** The terms as asked, then the id in the direction of the last; no terms mean the order of creation. */
export function sortOf(sort: readonly Sort[]): readonly Sort[] {
  const last = sort.at(-1);
  return last === undefined ? [{ field: 'n', direction: 'asc' }] : [...sort, { ...last, field: 'id' }];
}

// What a row holds: a record of a table, as decisions take it and as it is sent, or one of the service's own spaces.

export type StoredRecord = {
  readonly id: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly batchId: string | null;
  /** All fields of the asset type; null if unset. */
  readonly fields: Fields;
};

export function recordOf(
  { id, created: createdAt, updated: updatedAt, batch: batchId, data }: StoredRow,
  assetType: Pick<AssetType, 'fields'>,
): StoredRecord {
  const fields = JSON.parse(data);
  for (const { name } of assetType.fields) if (!Object.hasOwn(fields, name)) fields[name] = null;
  return { id, createdAt, updatedAt, batchId, fields };
}

/** A record as JSON text, as it is sent: id, created_at, updated_at, then each field of the asset type. */
export type RecordJson = string;

export const rowText = (row: StoredRow, assetType: Pick<AssetType, 'fields'>): RecordJson =>
  JSON.stringify(rowView(row, assetType));

export const rowView = (
  { id, created: createdAt, updated: updatedAt, data }: StoredRow,
  assetType: Pick<AssetType, 'fields'>,
): RecordView => recordView(assetType, { id, createdAt, updatedAt, fields: JSON.parse(data) });

/** An id in lower case, as it is stored; undefined if the text is no UUID. */
export const storedId = (id: string): string | undefined => (isUuid(id) ? id.toLowerCase() : undefined);

/** Fields that are JSON texts. */
const JSON_TEXTS = ['request', 'counts', 'fields', 'details', 'attempts'];
/** Fields that are members of an object, as `actor_id` of `actor`. */
const MEMBER = /^(actor|subject)_(.*)$/;

const inCamelCase = (name: string): string => name.replace(/_./g, ([, letter = '']) => letter.toUpperCase());

/** The fields of a row of the service's own spaces: their names in camel case, and only those that are set. */
export function told<Told>({ data }: StoredRow): Told {
  const all: Record<string, unknown> = {};
  const objects: Record<string, Record<string, unknown>> = {};
  for (const [name, value] of Object.entries<unknown>(JSON.parse(data))) {
    const [, object, member = ''] = MEMBER.exec(name) ?? [];
    if (object !== undefined) objects[object] = { ...objects[object], [inCamelCase(member)]: value };
    else all[inCamelCase(name)] = JSON_TEXTS.includes(name) ? JSON.parse(String(value)) : value;
  }
  return { ...all, ...objects } as Told;
}
