/** How rows are asked for: within a request, by conditions, page by page; and what the service's own rows hold. */

import type { FieldCondition, PageQuery, RowReads, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import { COMPARISONS } from './conditions.js';

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
