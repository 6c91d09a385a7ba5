/** A connection for queries: keeps prepared statements, and looks up tables in the catalog. */

import { LRUCache } from 'lru-cache';
import type { AssetType } from '../../../../domain/assetTypes/assetType.js';
import { foldCase } from '../../../../domain/assetTypes/caseFolding.js';
import type { Revision } from '../../../../ports/eventStore.js';
import type { TableRef } from '../../../../ports/readModels.js';
import type { Database, Statement } from '../../../openSqlite.js';
import { RecordText } from '../../shared/recordText.js';
import { type ConnectionOptions, openConnection } from '../connections.js';
import { LIVE } from '../ddl.js';
import { type FieldLayout, layoutIn, type StoredLayout, type TableLayout, timesOf } from '../layout.js';
import { cleanedUpStorage, type StorageTable, storageOf, type TableStorage } from '../tableStorage.js';

/** A value that can be bound to a statement. */
export type Cell = string | number | null | Buffer;

/** A table as it is at the moment of a query. */
export type ReadTable = {
  readonly id: number;
  readonly tenant: string;
  readonly rowCount: number;
  /** Above the number of each row that there ever was. */
  readonly nextRow: number;
  readonly revision: Revision;
  readonly lastEventAt: string;
  /** Grows with each change of the table. */
  readonly changes: number;
  /** The records that clean-ups deleted, if there were clean-ups. */
  readonly cleanedUp?: StorageTable;
  readonly shape: TableShape;
};

/** See `RecordReads.tableState`. It includes the last event, as ids and counts start again when the file is filled again. */
export const stateOf = ({ id, shape, changes, revision, lastEventAt }: ReadTable): string =>
  `${id}.${shape.version}.${changes}.${revision}.${lastEventAt}`;

export type TableIdentity = Pick<ReadTable, 'id' | 'shape'>;

/** Stays the same until the asset type changes. */
export type TableShape = {
  readonly version: number;
  readonly layout: TableLayout;
  /** Where its rows are. */
  readonly parts: TableStorage;
  /** Includes the record's own times. */
  readonly fields: ReadonlyMap<string, FieldLayout>;
  /** Characters that the values of a field may have, for fields with a limit. */
  readonly maxLengths: ReadonlyMap<string, number>;
  readonly text: RecordText;
};

/** `made` is 0 until the first record: the table's own tables do not exist yet. */
type CatalogTuple = [
  id: number,
  version: number,
  made: number,
  rowCount: number,
  nextRow: number,
  revision: number,
  lastEventAt: string,
  changes: number,
  cleanedUp: number,
];
const CATALOG_ROW = `SELECT id, version, made, row_count, next_row, revision, last_event_at, changes, cleaned_up
  FROM catalog WHERE tenant = ? AND name = ? AND copy = ${LIVE}`;

export type Found<Result> = { readonly revision: Revision; readonly lastEventAt: string; readonly result: Result };

const STATEMENTS = 300;
const LONGEST_KEPT = 8_000;
const SHAPES = 500;

/** The caller has cancelled. */
class NoLongerWantedError extends Error {
  override readonly name = 'NoLongerWantedError';
}

type IsWanted = {
  /** Called before each statement, and within slow ones (`STILL_WANTED`). */
  readonly isWanted?: () => boolean;
};

export class ReadConnection {
  readonly #db: Database;
  readonly #isWanted: () => boolean;
  readonly #begin: Statement;
  readonly #commit: Statement;
  readonly #statements = new LRUCache<string, Statement<Cell[], unknown>>({ max: STATEMENTS });
  readonly #shapes = new LRUCache<number, TableShape>({ max: SHAPES });
  readonly #lastSeen = new LRUCache<string, TableIdentity>({ max: SHAPES });
  #visit: (value: unknown) => void = () => undefined;

  /** @throws ReadModelsUnavailableError when the file cannot be opened */
  constructor({ isWanted = () => true, ...options }: Omit<ConnectionOptions, 'readOnly'> & IsWanted) {
    this.#db = openConnection({ ...options, readOnly: true });
    this.#isWanted = isWanted;
    this.#db.function('still_wanted', () => this.#checkWanted());
    this.#begin = this.#db.prepare('BEGIN');
    this.#commit = this.#db.prepare('COMMIT');
    this.#db.function('visit', { directOnly: true }, (value) => {
      this.#visit(value);
      return 1;
    });
    this.#db.function('fold_case', { deterministic: true }, (value) =>
      value === null ? null : foldCase(typeof value === 'string' ? value : JSON.stringify(value)),
    );
  }

  /** @returns 1, for SQL @throws NoLongerWantedError */
  #checkWanted(): 1 {
    if (!this.#isWanted()) throw new NoLongerWantedError('Nobody waits for the answer any more.');
    return 1;
  }

  /** Runs `work` on one snapshot of the file. */
  inSnapshot<Result>(work: () => Result): Result {
    this.#begin.run();
    try {
      return work();
    } finally {
      if (this.#db.inTransaction) this.#commit.run();
    }
  }

  /** @returns the result of `work` on the table, or `none` before its first record, with the table's revision in the same snapshot */
  read<Result>(ref: TableRef, none: Result, work: (table: ReadTable) => Result): Found<Result> {
    return this.inSnapshot(() => {
      // A tuple: to make an object takes longer than to read the row, and every get comes here.
      const row = this.tuples<CatalogTuple>(CATALOG_ROW).get(ref.tenant, ref.table);
      if (row === undefined) return { revision: -1, lastEventAt: '', result: none };
      const [id, version, made, rowCount, nextRow, revision, lastEventAt, changes, cleanedUp] = row;
      if (made === 0) return { revision, lastEventAt, result: none };
      const shape = this.#shape(id, version);
      const table = {
        id,
        tenant: ref.tenant,
        rowCount,
        nextRow,
        revision,
        lastEventAt,
        changes,
        shape,
        ...(cleanedUp === 1 && { cleanedUp: cleanedUpStorage(id) }),
      };
      return { revision, lastEventAt, result: work(table) };
    });
  }

  /** The table as it was read last. It may have changed since, or be gone. */
  lastSeen({ tenant, table }: TableRef): TableIdentity | undefined {
    return this.#lastSeen.get(`${tenant} ${table}`);
  }

  remember({ tenant, table }: TableRef, { id, shape }: TableIdentity): void {
    this.#lastSeen.set(`${tenant} ${table}`, { id, shape });
  }

  #shape(id: number, version: number): TableShape {
    const known = this.#shapes.get(id);
    if (known?.version === version) return known;
    const [row] = this.all<{ asset_type: string } & StoredLayout>(
      'SELECT asset_type, layout, small FROM catalog WHERE id = ?',
      [id],
    );
    if (row === undefined) throw new Error(`Table ${id} has left the catalog.`);
    const assetType: AssetType = JSON.parse(row.asset_type);
    const layout = layoutIn(row);
    const shape = {
      version,
      layout,
      parts: storageOf({ id, layout }),
      fields: new Map([...timesOf(layout), ...layout.fields].map((field) => [field.name, field])),
      maxLengths: new Map(assetType.fields.flatMap(({ name, maxLength }) => (maxLength ? [[name, maxLength]] : []))),
      text: new RecordText(layout),
    };
    this.#shapes.set(id, shape);
    return shape;
  }

  /** All rows as objects. */
  all<Row>(sql: string, cells: readonly Cell[] = []): Row[] {
    return this.#prepare<Row>(sql, 'rows').all(...cells);
  }

  /** The first column of all rows. */
  column<Value>(sql: string, cells: readonly Cell[] = []): Value[] {
    return this.#prepare<Value>(sql, 'column').all(...cells);
  }

  /**
   * Calls `visit` with the column `value` of each row: in a third of the time of an iterator.
   * @throws what `visit` throws, which ends the query
   */
  forEach<Value>(sql: string, cells: readonly Cell[], visit: (value: Value) => void): void {
    // Only the caller knows the type, which follows from the text of the query.
    this.#visit = (value) => visit(value as Value);
    try {
      this.number(`SELECT sum(visit(value)) FROM (${sql})`, cells);
    } finally {
      this.#visit = () => undefined;
    }
  }

  /** The first column of the first row, such as a count. */
  number(sql: string, cells: readonly Cell[] = []): number {
    return this.#prepare<number>(sql, 'column').get(...cells) ?? 0;
  }

  /** A prepared statement whose rows are arrays, to be run many times. */
  tuples<Row>(sql: string): Statement<Cell[], Row> {
    return this.#prepare<Row>(sql, 'tuples');
  }

  #prepare<Row>(sql: string, shape: 'rows' | 'column' | 'tuples'): Statement<Cell[], Row> {
    this.#checkWanted();
    const key = `${shape} ${sql}`;
    const known = this.#statements.get(key);
    // Only the caller knows the type, which follows from the text of the query.
    if (known !== undefined) return known as Statement<Cell[], Row>;
    const statement = this.#db.prepare<Cell[], Row>(sql);
    if (shape === 'column') statement.pluck();
    if (shape === 'tuples') statement.raw();
    // A statement with thousands of values takes much memory, and is hardly ever asked again.
    if (sql.length <= LONGEST_KEPT) this.#statements.set(key, statement);
    return statement;
  }

  close(): void {
    this.#statements.clear();
    this.#db.close();
  }
}
