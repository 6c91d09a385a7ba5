/** How the rows of a space are asked for, and how rows of the service's own spaces are read. */
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
const BOUNDS = ['gt', 'gte', 'lt', 'lte'] as const;
/** The value of a field, several of which it has one, or bounds of it as rows are sorted by it. */
type Wanted = Value | readonly Value[] | { readonly [is in (typeof BOUNDS)[number]]?: Value | undefined };

/** Conditions that all must hold; undefined ones are left out. */
export const where = (wanted: { readonly [field: string]: Wanted | undefined }): readonly FieldCondition[] =>
  Object.entries(wanted).flatMap(([field, wants]): readonly FieldCondition[] => {
    if (wants === undefined) return [];
    if (typeof wants !== 'object') return [{ kind: 'equals', field, anyOf: [wants] }];
    if ('length' in wants) return [{ kind: 'equals', field, anyOf: wants }];
    return BOUNDS.flatMap((is) => {
      const value = wants[is];
      return value === undefined ? [] : [{ kind: 'compares', field, is, value }];
    });
  });

const ROWS_AT_ONCE = 200;

/** All rows that are asked for, by their numbers, page by page. @throws the cancellation's reason */
export async function* rowsOf(
  rows: RowReads,
  space: SpaceRef,
  { limit = ROWS_AT_ONCE, ...asked }: Partial<PageQuery>,
  cancellation: Cancellation | undefined,
): AsyncGenerator<StoredRow, undefined> {
  for (let { behind } = asked; ; ) {
    cancellation?.throwIfCancelled();
    const page = await rows.page(space, { ...ALL_ROWS, ...asked, behind, limit }, cancellation);
    yield* page.rows;
    if (page.rows.length < limit) return;
    behind = page.rows.at(-1)?.n;
  }
}

/** Fields that are JSON texts. */
const JSON_TEXTS = ['request', 'counts', 'fields', 'details', 'attempts', 'refused'];
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
