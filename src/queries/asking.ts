/** How rows are asked for: conditions, and pages of all that hold them. */
import type { FieldValue } from '../domain/assetTypes/fieldTypes.js';
import type { FieldCondition, PageQuery, RowReads, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';

const ROWS_AT_ONCE = 200;

/** All rows in the order of creation, however long they are. */
export const ALL_ROWS: PageQuery = {
  conditions: [],
  sort: [{ field: 'n', direction: 'asc' }],
  offset: 0,
  limit: 2 ** 31 - 1,
  withTotal: false,
  maxCharacters: Number.MAX_SAFE_INTEGER,
};

export const isOneOf = (field: string, anyOf: readonly FieldValue[]): FieldCondition => ({
  kind: 'equals',
  field,
  anyOf,
});

/** @param value as rows are sorted by it */
export const compares = (field: string, is: 'lt' | 'lte' | 'gt' | 'gte', value: string | number): FieldCondition => ({
  kind: 'compares',
  field,
  is,
  value,
});

export type AskedRows = Pick<PageQuery, 'conditions' | 'behind'> & { readonly direction: 'asc' | 'desc' };

/** Rows in the order of creation, page by page. @throws the cancellation's reason */
export async function* rowsOf(
  rows: RowReads,
  space: SpaceRef,
  { conditions, direction, behind: start }: AskedRows,
  cancellation: Cancellation | undefined,
  limit = ROWS_AT_ONCE,
): AsyncGenerator<StoredRow> {
  for (let behind = start; ; ) {
    cancellation?.throwIfCancelled();
    const query: PageQuery = { ...ALL_ROWS, conditions, sort: [{ field: 'n', direction }], behind, limit };
    const page = await rows.page(space, query, cancellation);
    yield* page.rows;
    if (page.rows.length < limit) return;
    behind = page.rows.at(-1)?.n;
  }
}
