/** Writes the activity of one copy (the served one, or the one that a rebuild fills), and reads the served one. */

import { MAX_ACTIVITY_SEARCHED } from '../../../domain/limits.js';
import type { ActivityEntry, ActivityQuery } from '../../../ports/activity.js';
import type { Database, Statement } from '../../openSqlite.js';
import {
  ACTIVITY_KEYS,
  type ActivityKey,
  activityText,
  columnsOf,
  type FoundActivity,
  keysOfFilters,
  type PlaceKey,
  placeKey,
} from '../shared/activity.js';
import { instant } from '../shared/deliveryLog.js';
import { LIVE } from './ddl.js';
import type { Cell, ReadConnection } from './read/readConnection.js';

/** The column of each key, and the name of its index behind `activity_`. */
export const COLUMNS: { readonly [key in ActivityKey]: string } = {
  correlation: 'correlation',
  subject: 'subject',
  orderId: 'order_id',
  kind: 'kind',
  actor: 'actor',
  tableName: 'table_name',
};

const INSERT = `INSERT OR IGNORE INTO activity_entries
  (owner, at, position, revision, ${ACTIVITY_KEYS.map((key) => COLUMNS[key]).join(', ')}, entry)
  VALUES (@owner, @at, @position, @revision, ${ACTIVITY_KEYS.map((key) => `@${key}`).join(', ')}, @entry)`;

export class ActivityTable {
  readonly #copy: number;
  readonly #find: Statement<[string, number], number>;
  readonly #add: Statement<[string, number]>;
  readonly #insert: Statement<[ReturnType<typeof columnsOf> & { owner: number; entry: string }]>;

  constructor(db: Database, copy: number) {
    this.#copy = copy;
    this.#find = db
      .prepare<[string, number], number>('SELECT id FROM activities WHERE tenant = ? AND copy = ?')
      .pluck();
    this.#add = db.prepare('INSERT INTO activities (tenant, copy) VALUES (?, ?)');
    this.#insert = db.prepare(INSERT);
  }

  add(tenant: string, entries: readonly ActivityEntry[]): void {
    const owner = this.#find.get(tenant, this.#copy) ?? Number(this.#add.run(tenant, this.#copy).lastInsertRowid);
    for (const entry of entries) this.#insert.run({ ...columnsOf(entry), owner, entry: activityText(entry) });
  }
}

const FOUND = 'at, position, revision, entry';
type Found = PlaceKey & { readonly entry: string };

const NEWEST_FIRST = 'ORDER BY at DESC, position DESC, revision DESC';

type Condition = { readonly sql: string; readonly cells: readonly Cell[] };

const both = (conditions: readonly Condition[]): Condition => ({
  sql: conditions.map(({ sql }) => sql).join(' AND '),
  cells: conditions.flatMap(({ cells }) => cells),
});

const afterOrAt = ({ at, position, revision }: PlaceKey): Condition => ({
  sql: '(at, position, revision) >= (?, ?, ?)',
  cells: [at, position, revision],
});

/** The entries of a page, newest first, each as JSON text. */
export function listActivity(connection: ReadConnection, tenant: string, query: ActivityQuery): FoundActivity {
  return connection.inSnapshot(() => {
    const owner = connection.number(`SELECT id FROM activities WHERE tenant = ? AND copy = ${LIVE}`, [tenant]);
    const keys = keysOfFilters(query.filters);
    const [first] = keys;
    const index = `activity_${first === undefined ? 'time' : COLUMNS[first[0]]}`;
    const find = <Row>(what: string, { sql, cells }: Condition, limit: number, offset = 0): Row[] =>
      connection.all<Row>(
        `SELECT ${what} FROM activity_entries INDEXED BY ${index} WHERE ${sql} ${NEWEST_FIRST} LIMIT ? OFFSET ?`,
        [...cells, limit, offset],
      );
    const range = both([
      { sql: 'owner = ?', cells: [owner] },
      ...keys.slice(0, 1).map(([key, value]) => ({ sql: `${COLUMNS[key]} = ?`, cells: [value] })),
      ...(query.from === undefined ? [] : [{ sql: 'at >= ?', cells: [instant(query.from)] }]),
      ...(query.to === undefined ? [] : [{ sql: 'at <= ?', cells: [instant(query.to)] }]),
      ...(query.before === undefined ? [] : [before(placeKey(query.before))]),
    ]);
    // One filter, or none: all entries of the index pass it.
    const [end] = keys.length < 2 ? [] : find<Found>(FOUND, range, 1, MAX_ACTIVITY_SEARCHED - 1);
    const others = keys.slice(1).map(([key, value]) => ({ sql: `${COLUMNS[key]} = ?`, cells: [value] }));
    const page = both([range, ...others, ...(end === undefined ? [] : [afterOrAt(end)])]);
    const entries = find<Found>(FOUND, page, query.limit).map(({ entry }) => entry);
    return end === undefined || entries.length >= query.limit ? { entries } : { entries, searchedTo: end.entry };
  });
}

const before = ({ at, position, revision }: PlaceKey): Condition => ({
  sql: '(at, position, revision) < (?, ?, ?)',
  cells: [at, position, revision],
});
