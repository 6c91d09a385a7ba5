/** A connection to the file of one tenant's rows, and what is read over it by id, by key and by position. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import { keyOf } from '../../../domain/row.js';
import type {
  FoundRows,
  Parked,
  RowsQuery,
  SpaceState,
  StoredRow,
  StoredVersion,
  TenantProgress,
  VersionPage,
  VersionQuery,
} from '../../../ports/rowStore.js';
import type { Database, Statement } from '../../openSqlite.js';
import { baseOf, type Cell, idCell, idText, type Space, timeText } from './cells.js';
import type { SpaceIndexes, StoredIndex } from './indexes.js';
import { indexesOf } from './indexes.js';

/** What a space is now. */
export type SpaceNow = {
  readonly space: Space;
  readonly indexes: SpaceIndexes;
  readonly state: SpaceState;
  /** Above the n of each row that there ever was. */
  readonly next: number;
  /** Grows whenever rows change, batch ids apart. */
  readonly writes: number;
};

type SpaceTuple = [
  number: number,
  rows: number,
  next: number,
  changed: number,
  revision: number,
  lastEventAt: string,
  writes: number,
  shape: number,
];
const SPACE = 'SELECT space, rows, next, changed, revision, last_event_at, writes, shape FROM spaces WHERE name = ?';

export const NO_ROWS: SpaceState = { progress: 0, changed: 0, revision: -1, lastEventAt: '', rows: 0 };

type RowTuple = [
  row: number,
  key: string | null,
  id: Buffer | string,
  from: number,
  created: number | string,
  updated: number | string,
  batch: number | null,
  data: string,
];
const ROW = `SELECT rows.row, key, id, from_pos, created, updated, batch, data FROM rows LEFT JOIN seen ON seen.row = rows.row`;

type StateTuple = [
  row: number,
  id: Buffer | string,
  from: number,
  created: number | string,
  updated: number | string,
  batch: number | null,
  data: string,
  to: number | null,
  how: StoredVersion['how'],
];
const PAST = 'SELECT row, id, from_pos, created, updated, batch, data, to_pos, how FROM past';
const PRESENT = `SELECT row, id, from_pos, created, updated, (SELECT batch FROM seen WHERE seen.row = rows.row), data, NULL,
  'present' FROM rows`;

/** A position that no event has: where what is present ends. */
const NEVER = Number.MAX_SAFE_INTEGER;
const MAX_STATEMENTS = 300;
const MAX_BATCHES = 1_000;

export class Connection {
  readonly #statements = new Map<string, Statement<Cell[], unknown>>();
  readonly #spaces = new Map<
    string,
    { readonly shape: number; readonly space: Space; readonly indexes: SpaceIndexes }
  >();
  readonly #batches = new Map<number, string>();

  constructor(readonly db: Database) {}

  /** Prepared once. Its rows are arrays. Only the caller knows their types, which follow from the text. */
  tuples<Row>(sql: string): Statement<Cell[], Row> {
    return this.#prepare(sql, (statement) => statement.raw());
  }

  /** Prepared once. Its rows are their first column. */
  column<Value>(sql: string): Statement<Cell[], Value> {
    return this.#prepare(`${sql} `, (statement) => statement.pluck());
  }

  run(sql: string, ...cells: Cell[]): number {
    return this.#prepare(sql, () => undefined).run(...cells).changes;
  }

  #prepare<Row>(sql: string, shape: (statement: Statement<Cell[], unknown>) => void): Statement<Cell[], Row> {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.db.prepare<Cell[], unknown>(sql);
      shape(statement);
      if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
      this.#statements.set(sql, statement);
    }
    return statement as Statement<Cell[], Row>;
  }

  /** Runs `work` on one snapshot of the file. */
  reading<Result>(work: () => Result): Result {
    this.run('BEGIN');
    try {
      return work();
    } finally {
      if (this.db.inTransaction) this.run('COMMIT');
    }
  }

  position(): number {
    return this.column<number>('SELECT position FROM tenant').get() ?? 0;
  }

  /** Undefined for a file to which nothing was applied. */
  progress(): TenantProgress | undefined {
    const [position, text] = this.tuples<[number, string | null]>('SELECT position, state FROM tenant').get() ?? [
      0,
      null,
    ];
    const mark: 'filling' | Parked | undefined = text === null ? undefined : JSON.parse(text);
    if (position === 0 && mark === undefined) return undefined;
    const rows = this.column<number>('SELECT coalesce(sum(rows), 0) FROM spaces').get() ?? 0;
    if (mark === undefined) return { position, state: 'running', rows };
    if (mark === 'filling') return { position, state: 'filling', rows };
    return { position, state: 'parked', parked: mark, rows };
  }

  /** Why its rows are not shown, for callers; undefined: they are. */
  hidden(): string | undefined {
    const state = this.progress()?.state ?? 'running';
    if (state === 'running') return undefined;
    return state === 'filling'
      ? 'The rows of this tenant are being made.'
      : 'The rows of this tenant are not shown: an event could not be applied.';
  }

  spaceNow(name: string): SpaceNow | undefined {
    const tuple = this.tuples<SpaceTuple>(SPACE).get(name);
    if (tuple === undefined) return undefined;
    const [number, rows, next, changed, revision, lastEventAt, writes, shape] = tuple;
    let known = this.#spaces.get(name);
    if (known?.shape !== shape) {
      const [assetType = '', slots = ''] =
        this.tuples<[string, string]>('SELECT asset_type, slots FROM spaces WHERE space = ?').get(number) ?? [];
      const stored = this.tuples<StoredIndex>('SELECT name, spec, upto FROM indexes WHERE space = ?').all(number);
      const space = { number, name, assetType: JSON.parse(assetType), slots: JSON.parse(slots) };
      known = { shape, space, indexes: indexesOf(stored) };
      this.#spaces.set(name, known);
    }
    const state = { progress: this.position(), changed, revision, lastEventAt, rows };
    return { space: known.space, indexes: known.indexes, state, next, writes };
  }

  spaces(): ReadonlyMap<string, { readonly assetType: AssetType; readonly state: SpaceState }> {
    const names = this.column<string>('SELECT name FROM spaces ORDER BY space').all();
    return new Map(
      names.flatMap((name) => {
        const now = this.spaceNow(name);
        return now === undefined ? [] : [[name, { assetType: now.space.assetType, state: now.state }]];
      }),
    );
  }

  /** The row with this number. */
  row(number: number): StoredRow | undefined {
    const tuple = this.tuples<RowTuple>(`${ROW} WHERE rows.row = ?`).get(number);
    return tuple && this.#storedRow(tuple);
  }

  /** The state with this number among those of the past. */
  pastRow(number: number, space: Space): StoredRow | undefined {
    const tuple = this.tuples<StateTuple>(`${PAST} WHERE n = ?`).get(number);
    if (tuple === undefined) return undefined;
    const { to, how, ...row } = this.#storedState(tuple, space);
    return row;
  }

  rows(name: string, { ids, keys, at, withFormerIds = false }: RowsQuery): FoundRows {
    const now = this.spaceNow(name);
    if (now === undefined) return { rows: [], formerIds: new Map(), state: { ...NO_ROWS, progress: this.position() } };
    const { space, state } = now;
    const found = new Map<string, StoredRow>();
    const formerIds = new Map<string, string>();
    const keep = (row: StoredRow | undefined) => row !== undefined && found.set(row.id, row);
    for (const id of ids) keep(at === undefined ? this.#byId(space, id) : this.#byIdAt(space, idCell(id), at));
    for (const key of keys) {
      if (at !== undefined) {
        for (const id of this.#idsOfKey(space, key)) {
          const row = this.#byIdAt(space, id, at);
          if (row?.key === key) keep(row);
        }
        continue;
      }
      const tuple = this.tuples<RowTuple>(`${ROW} WHERE space = ? AND key = ?`).get(space.number, key);
      if (tuple !== undefined) keep(this.#storedRow(tuple));
      else if (withFormerIds) {
        const former = this.column<Buffer | string>(
          `SELECT id FROM past INDEXED BY past_key WHERE space = ? AND last_key = ? AND how = 'deleted'
           ORDER BY to_pos DESC, n DESC LIMIT 1`,
        ).get(space.number, key);
        if (former !== undefined) formerIds.set(key, idText(former));
      }
    }
    return { rows: [...found.values()], formerIds, state };
  }

  #byId(space: Space, id: string): StoredRow | undefined {
    const tuple = this.tuples<RowTuple>(`${ROW} WHERE space = ? AND id = ?`).get(space.number, idCell(id));
    return tuple && this.#storedRow(tuple);
  }

  #byIdAt(space: Space, id: Cell, at: number): StoredRow | undefined {
    const present = this.tuples<RowTuple>(`${ROW} WHERE space = ? AND id = ? AND from_pos <= ?`).get(
      space.number,
      id,
      at,
    );
    if (present !== undefined) return this.#storedRow(present);
    const n = this.column<number>(
      'SELECT n FROM past INDEXED BY past_id WHERE space = ? AND id = ? AND from_pos <= ? AND to_pos > ?',
    ).get(space.number, id, at, at);
    return n === undefined ? undefined : this.pastRow(n, space);
  }

  /** Of all rows that have the key or had it. */
  #idsOfKey(space: Space, key: string): readonly (Buffer | string)[] {
    return this.column<Buffer | string>(
      `SELECT id FROM rows WHERE space = ? AND key = ?
       UNION SELECT id FROM past INDEXED BY past_key WHERE space = ? AND last_key = ?`,
    ).all(space.number, key, space.number, key);
  }

  #storedRow([row, key, id, from, created, updated, batch, data]: RowTuple): StoredRow {
    return {
      id: idText(id),
      key,
      from,
      created: timeText(created),
      updated: timeText(updated),
      batch: batch === null ? null : this.#batchId(batch),
      data,
      n: row % 2 ** 32,
    };
  }

  #storedState(
    [row, id, from, created, updated, batch, data, to, how]: StateTuple,
    { assetType }: Space,
  ): StoredVersion {
    const state: RowTuple = [row, null, id, from, created, updated, batch, data];
    // A key of the past is read from the fields, since most rows keep theirs.
    const key = assetType.uniqueField === undefined ? null : keyOf(assetType, JSON.parse(data));
    return { ...this.#storedRow(state), key, to: to ?? undefined, how };
  }

  versions(name: string, query: VersionQuery): VersionPage {
    const now = this.spaceNow(name);
    const none = query.withTotal ? { total: 0 } : {};
    if (now === undefined) return { versions: [], ...none, state: { ...NO_ROWS, progress: this.position() } };
    const { id, how, direction, limit, withTotal } = query;
    const [after, until] = query.begun ?? query.ended ?? [0, 0];
    const range: Cell[] = id === undefined ? [after, until] : [idCell(id)];
    const sides: Side[] = [];
    if (how !== 'present')
      sides.push(
        id !== undefined
          ? { from: PAST, by: 'past_id', where: 'id = ?', place: 'to_pos' }
          : query.begun !== undefined
            ? { from: PAST, by: 'past_from', where: 'from_pos > ? AND from_pos <= ?', place: 'from_pos' }
            : { from: PAST, by: 'past_to', where: 'to_pos > ? AND to_pos <= ?', place: 'to_pos' },
      );
    if (query.ended === undefined && (how ?? 'present') === 'present')
      sides.push(
        id === undefined
          ? { from: PRESENT, by: 'rows_pos', where: 'from_pos > ? AND from_pos <= ?', place: 'from_pos' }
          : { from: PRESENT, by: 'rows_id', where: 'id = ?', place: String(NEVER) },
      );
    const sign = direction === 'asc' ? 1 : -1;
    const placeOf = ({ from, to = NEVER }: StoredVersion) => (query.begun === undefined ? to : from);
    const versions: StoredVersion[] = [];
    let total = 0;
    for (const { from, by, where, place } of sides) {
      const isOfHow = from === PAST && how !== undefined ? ' AND how = ?' : '';
      const cells = [now.space.number, ...range, ...(isOfHow === '' || how === undefined ? [] : [how])];
      const table = from.slice(from.lastIndexOf(' '));
      const rest = `INDEXED BY ${by} WHERE space = ? AND ${where}${isOfHow}`;
      const [position, n] = query.behind ?? [];
      const behind = position === undefined ? '' : ` AND (${place}, row) ${sign > 0 ? '>' : '<'} (?, ?)`;
      const behindCells = position === undefined ? [] : [position, baseOf(now.space) + Number(n)];
      const tuples = this.tuples<StateTuple>(
        `${from} ${rest}${behind} ORDER BY ${place} ${direction}, row ${direction} LIMIT ?`,
      ).all(...cells, ...behindCells, limit);
      versions.push(...tuples.map((tuple) => this.#storedState(tuple, now.space)));
      if (withTotal) total += this.column<number>(`SELECT count(*) FROM${table} ${rest}`).get(...cells) ?? 0;
    }
    if (sides.length > 1) versions.sort((a, b) => sign * (placeOf(a) - placeOf(b) || a.n - b.n));
    return { versions: versions.slice(0, limit), ...(withTotal && { total }), state: now.state };
  }

  #batchId(batch: number): string {
    let id = this.#batches.get(batch);
    if (id === undefined) {
      id = this.column<string>('SELECT id FROM batches WHERE batch = ?').get(batch) ?? '';
      if (this.#batches.size >= MAX_BATCHES) this.#batches.clear();
      this.#batches.set(batch, id);
    }
    return id;
  }
}

type Side = { readonly from: string; readonly by: string; readonly where: string; readonly place: string };
