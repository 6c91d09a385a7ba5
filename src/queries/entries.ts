/** Rows in the order of creation, page by page, such as the entries of the activity. */
import { ACTIVITY_KINDS } from '../domain/activity.js';
import { ACTIVITY } from '../domain/spaces.js';
import type { EventStore, Position, Revision } from '../ports/eventStore.js';
import type { FieldCondition, PageQuery, RowReads, SpaceRef, StoredRow } from '../ports/rowStore.js';
import type { Cancellation } from '../supervision/cancellation.js';
import type { ActivityEntry } from './activity.js';
import { entryOf } from './activity.js';

const ROWS_AT_ONCE = 200;

export const ofTable = (table: string): FieldCondition => ({ kind: 'equals', field: 'table', anyOf: [table] });
export const isOneOf = (field: string, anyOf: readonly (string | number)[]): FieldCondition => ({
  kind: 'equals',
  field,
  anyOf,
});
export const compares = (field: string, is: 'lt' | 'lte' | 'gt' | 'gte', value: string | number): FieldCondition => ({
  kind: 'compares',
  field,
  is,
  value,
});

type AskedRows = Pick<PageQuery, 'conditions' | 'behind'> & { readonly direction: 'asc' | 'desc' };

/** Rows in the order of creation, page by page. @throws the cancellation's reason */
export async function* rowsOf(
  rows: RowReads,
  space: SpaceRef,
  { conditions, direction, behind: start }: AskedRows,
  cancellation: Cancellation | undefined,
  limit = ROWS_AT_ONCE,
): AsyncGenerator<StoredRow> {
  const all = { offset: 0, limit, withTotal: false, maxCharacters: Number.MAX_SAFE_INTEGER };
  for (let behind = start; ; ) {
    cancellation?.throwIfCancelled();
    const query: PageQuery = { ...all, conditions, sort: [{ field: 'n', direction }], behind };
    const page = await rows.page(space, query, cancellation);
    yield* page.rows;
    if (page.rows.length < limit) return;
    behind = page.rows.at(-1)?.n;
  }
}

/** Entries of the activity in the order of the log. */
export async function* entriesOf(
  rows: RowReads,
  tenant: string,
  asked: AskedRows,
  cancellation: Cancellation | undefined,
  limit = ROWS_AT_ONCE,
): AsyncGenerator<ActivityEntry & { readonly n: number }> {
  for await (const row of rowsOf(rows, { tenant, space: ACTIVITY.name }, asked, cancellation, limit)) {
    yield { ...entryOf(row), n: row.n };
  }
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
  const asked = { conditions: [compares('created_at', 'lte', time)], direction: 'desc' } as const;
  for await (const { position } of entriesOf(rows, tenant, asked, cancellation, 1)) return position;
  return 0;
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
  const conditions = [
    isOneOf('order_id', [orderId]),
    isOneOf('kind', OF_ORDERS),
    compares('position', 'lte', position),
  ];
  const asked = { conditions, direction: 'desc' } as const;
  for await (const { revision } of entriesOf(rows, tenant, asked, cancellation, 1)) return revision;
  return undefined;
}
