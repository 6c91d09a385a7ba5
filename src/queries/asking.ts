/** How the rows of a space are asked for: what must hold, pages of all rows for which it does, and how a row is read. */
import type { AssetType } from '../domain/assetTypes/assetType.js';
import type { FieldCondition, PageQuery, RowReads, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';

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
type Bounds = { readonly [is in 'gt' | 'gte' | 'lt' | 'lte']?: Value | undefined };

/**
 * Conditions that all must hold; undefined ones are left out.
 * @param equal the value of each field, or several of which it has one
 * @param within bounds of fields, as rows are sorted by them
 */
export function where(
  equal: { readonly [field: string]: Value | readonly Value[] | undefined },
  within: { readonly [field: string]: Bounds } = {},
): readonly FieldCondition[] {
  const conditions: FieldCondition[] = [];
  for (const [field, is] of Object.entries(equal))
    if (is !== undefined) conditions.push({ kind: 'equals', field, anyOf: typeof is === 'object' ? is : [is] });
  for (const [field, bounds] of Object.entries(within))
    for (const is of ['gt', 'gte', 'lt', 'lte'] as const) {
      const value = bounds[is];
      if (value !== undefined) conditions.push({ kind: 'compares', field, is, value });
    }
  return conditions;
}

const ROWS_AT_ONCE = 200;

/** All rows that are asked for, by their numbers, page by page. @throws the cancellation's reason */
export async function* rowsOf(
  rows: RowReads,
  space: SpaceRef,
  { limit = ROWS_AT_ONCE, ...asked }: Partial<PageQuery>,
  cancellation: Cancellation | undefined,
): AsyncGenerator<StoredRow> {
  for (let { behind } = asked; ; ) {
    cancellation?.throwIfCancelled();
    const page = await rows.page(space, { ...ALL_ROWS, ...asked, behind, limit }, cancellation);
    yield* page.rows;
    if (page.rows.length < limit) return;
    behind = page.rows.at(-1)?.n;
  }
}

/** `json`: fields that are JSON texts. `groups`: members of an object, as `actor_id` of `actor`. */
type Form = { readonly json?: readonly string[]; readonly groups?: readonly string[] };

/** Reads the fields of a space of the service: their names in camel case, and only those that are set. */
export function readerOf<Told>({ fields }: AssetType, { json = [], groups = [] }: Form): (data: string) => Told {
  const members = fields.map(({ name }) => {
    const group = groups.find((each) => name.startsWith(`${each}_`));
    const own = group === undefined ? name : name.slice(group.length + 1);
    return {
      name,
      group,
      isJson: json.includes(name),
      as: own.replace(/_./g, ([, letter = '']) => letter.toUpperCase()),
    };
  });
  return (data) => {
    const stored = JSON.parse(data);
    const told: Record<string, unknown> = {};
    const objects: Record<string, Record<string, unknown>> = {};
    for (const { name, group, as, isJson } of members) {
      const value = stored[name];
      if (value === undefined) continue;
      const read = isJson ? JSON.parse(value) : value;
      if (group === undefined) told[as] = read;
      else objects[group] = { ...objects[group], [as]: read };
    }
    return { ...told, ...objects } as Told;
  };
}
