/**
 * A connection to the file of one tenant's rows: how values are kept in its columns, and what is read over it by id, by key and
 * by position.
 */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type {
  FoundRows,
  RowsQuery,
  SpaceState,
  Spaces,
  StoredRow,
  StoredVersion,
  TenantProgress,
  VersionPage,
  VersionQuery,
} from '../../../ports/rowStore.js';
import { type Database, type Statement, uuidBytes, uuidText } from '../../openSqlite.js';

/** Columns for values that are sought or sorted by. Further fields are read from `data`. */
export const SLOTS = Array.from({ length: 16 }, (_, slot) => `s${slot}`);

export type Cell = string | number | null | Buffer;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Sixteen bytes for a UUID. Other ids remain texts, so they are no UUID's equal. */
export const idCell = (id: string): Cell => (UUID.test(id) ? uuidBytes(id) : id);

/** Many ids in one statement: `id ${AMONG_IDS}`, with `idList` for its parameter. */
export const AMONG_IDS = `IN (SELECT iif(type = 'array', unhex(value ->> 0), value) FROM json_each(?))`;
export const idList = (ids: readonly string[]): string =>
  JSON.stringify(ids.map((id) => (UUID.test(id) ? [id.replaceAll('-', '')] : id)));
/** The same of keys, whose list is their JSON. */
const AMONG_KEYS = 'IN (SELECT value FROM json_each(?))';

const idText = (cell: Buffer | string): string => (typeof cell === 'string' ? cell : uuidText(cell.toString('hex')));

export type Space = {
  readonly number: number;
  readonly name: string;
  readonly assetType: AssetType;
  /** Names of the fields that have columns, by column. A field never moves to another one. */
  readonly slots: readonly string[];
};

const NUMBERS = 2 ** 32;
/** The first number that a row of the space may have; n is added to it. */
export const baseOf = ({ number }: Pick<Space, 'number'>): number => number * NUMBERS;
export const numberOf = (row: number): number => row % NUMBERS;

const COLUMNS_OF_ALL = new Map(Object.entries({ created_at: 'created', updated_at: 'updated', id: 'id', n: 'row' }));
/** The column of a field that has one. `n` is the order of creation. */
export const columnOf = ({ slots }: Space, field: string): string | undefined =>
  COLUMNS_OF_ALL.get(field) ?? SLOTS[slots.indexOf(field)];

/** An index on demand: of columns in an order, or of the trigrams of one column. */
export type Index = {
  readonly name: string;
  /** `s3, id DESC`, or `text s3`. */
  readonly spec: string;
  /** Of trigrams: rows up to this n are in it. */
  readonly upto: number | null;
};

export const OF_TEXT = 'text ';
/** The column whose trigrams the index has; undefined: it is no such index. */
export const textColumn = (spec: string): string | undefined =>
  spec.startsWith(OF_TEXT) ? spec.slice(OF_TEXT.length) : undefined;

export type SpaceNow = {
  readonly space: Space;
  readonly indexes: readonly Index[];
  readonly state: SpaceState;
  /** Above the n of each row that there ever was. */
  readonly next: number;
};

const SPACES = `SELECT name, space, rows, next, changed, revision, last_event_at AS lastEventAt, shape,
  (SELECT position FROM tenant) AS progress FROM spaces`;
const TENANT = `SELECT position, bytes AS logBytes, (SELECT coalesce(sum(rows), 0) FROM spaces) AS rows FROM tenant`;

type SpaceCells = SpaceState & {
  readonly name: string;
  readonly space: number;
  readonly next: number;
  readonly shape: number;
};

/** As arrays, which are read in three quarters of the time of objects. */
type State = readonly [
  row: number,
  key: string | null,
  id: Buffer | string,
  from: number,
  created: string,
  updated: string,
  batch: string | null,
  data: string,
  to: number | null,
  how: StoredVersion['how'],
];
const STATE = {
  rows: `row, key, id, from_pos, created, updated, (SELECT batch FROM seen WHERE seen.row = rows.row), data, NULL, 'present'`,
  past: 'row, key, id, from_pos, created, updated, batch, data, to_pos, how',
} as const;

/** A position that no event has: where what is present ends. */
const NEVER = String(Number.MAX_SAFE_INTEGER);
const MAX_STATEMENTS = 300;

export class Connection {
  readonly #statements = new Map<string, Statement<Cell[], unknown>>();
  readonly #spaces = new Map<string, { readonly shape: number; readonly space: Space; readonly indexes: Index[] }>();

  constructor(readonly db: Database) {}

  /** Prepared once. Only the caller knows the type of its rows, which follows from the text. */
  query<Row>(sql: string): Statement<Cell[], Row> {
    return this.#prepared(sql) as Statement<Cell[], Row>;
  }

  /** Prepared once. Its rows are their first column. */
  column<Value>(sql: string): Statement<Cell[], Value> {
    return this.#prepared(`${sql} `, 'pluck') as Statement<Cell[], Value>;
  }

  #states(sql: string): Statement<Cell[], State> {
    return this.#prepared(sql, 'raw') as Statement<Cell[], State>;
  }

  run(sql: string, ...cells: Cell[]): void {
    this.query(sql).run(...cells);
  }

  #prepared(sql: string, as?: 'pluck' | 'raw'): Statement<Cell[], unknown> {
    const known = this.#statements.get(sql);
    if (known !== undefined) return known;
    if (this.#statements.size >= MAX_STATEMENTS) this.#statements.clear();
    const statement = this.db.prepare<Cell[], unknown>(sql);
    if (as !== undefined) statement[as]();
    this.#statements.set(sql, statement);
    return statement;
  }

  position(): number {
    return this.column<number>('SELECT position FROM tenant').get() ?? 0;
  }

  /** Empty while it is running. */
  mark(): Partial<Pick<TenantProgress, 'state' | 'parked'>> {
    return JSON.parse(this.column<string>('SELECT mark FROM tenant').get() ?? '{}');
  }

  progress(): TenantProgress | undefined {
    const tenant = this.query<Pick<TenantProgress, 'position' | 'logBytes' | 'rows'>>(TENANT).get();
    const mark = this.mark();
    if (tenant === undefined || (tenant.position === 0 && mark.state === undefined)) return undefined;
    return { ...tenant, state: 'running', ...mark };
  }

  spaceNow(name: string): SpaceNow | undefined {
    const cells = this.query<SpaceCells>(`${SPACES} WHERE name = ?`).get(name);
    return cells && this.#known(cells);
  }

  #known({ name, space: number, next, shape, ...state }: SpaceCells): SpaceNow {
    let known = this.#spaces.get(name);
    if (known?.shape !== shape) {
      const json = (column: string) =>
        JSON.parse(this.column<string>(`SELECT ${column} FROM spaces WHERE space = ?`).get(number) ?? '');
      const space = { number, name, assetType: json('asset_type'), slots: json('slots') };
      const indexes = this.query<Index>('SELECT name, spec, upto FROM indexes WHERE space = ?').all(number);
      known = { shape, space, indexes };
      this.#spaces.set(name, known);
    }
    return { space: known.space, indexes: known.indexes, state, next };
  }

  noRows(): SpaceState {
    return { progress: this.position(), changed: 0, revision: -1, lastEventAt: '', rows: 0 };
  }

  /** Undefined for a file to which nothing was applied; so is its progress. */
  spaces(): Spaces | undefined {
    const all = this.query<SpaceCells>(`${SPACES} ORDER BY space`).all();
    if (all.length === 0 && this.progress() === undefined) return undefined;
    const known = all.map((cells) => this.#known(cells));
    return new Map(known.map(({ space: { name, assetType }, state }) => [name, { assetType, state }]));
  }

  /** The row with this number, or the state with this one among those of the past. */
  row(number: number, from: 'rows' | 'past' = 'rows'): StoredRow | undefined {
    const sql = `SELECT ${STATE[from]} FROM ${from} WHERE ${from === 'rows' ? 'row' : 'n'} = ?`;
    const state = this.#states(sql).get(number);
    return state && rowOf(state);
  }

  rows(name: string, { ids, keys, at }: RowsQuery): FoundRows {
    const now = this.spaceNow(name);
    const formerIds = new Map<string, string>();
    if (now === undefined) return { rows: [], formerIds, state: this.noRows() };
    const found = new Map<number, StoredRow>();
    // One statement for all of them: a batch has a thousand.
    const find = (column: 'id' | 'key', among: string, wanted: Cell): void => {
      const where = `WHERE space = ${now.space.number} AND ${column} ${among}`;
      const present = `SELECT ${STATE.rows} FROM rows ${where}`;
      const past = `SELECT ${STATE.past} FROM past INDEXED BY past_${column} ${where} AND from_pos <= ? AND to_pos > ?`;
      const states =
        at === undefined
          ? this.#states(present).all(wanted)
          : this.#states(`${present} AND from_pos <= ? UNION ALL ${past}`).all(wanted, at, wanted, at, at);
      for (const state of states) found.set(state[0], rowOf(state));
    };
    const [id, ...moreIds] = ids;
    if (moreIds.length > 0) find('id', AMONG_IDS, idList(ids));
    else if (id !== undefined) find('id', '= ?', idCell(id));
    if (keys.length > 0) find('key', AMONG_KEYS, JSON.stringify(keys));
    const known = new Set(Array.from(found.values(), ({ key }) => key));
    const unknown = keys.filter((key) => !known.has(key));
    if (unknown.length > 0) {
      const former = this.query<{ readonly key: string; readonly id: Buffer | string }>(
        `SELECT key, id, max(to_pos) FROM past INDEXED BY past_key
         WHERE space = ? AND key ${AMONG_KEYS} AND how = 'deleted' GROUP BY key`,
      );
      for (const { key, id } of former.all(now.space.number, JSON.stringify(unknown))) formerIds.set(key, idText(id));
    }
    return { rows: [...found.values()], formerIds, state: now.state };
  }

  versions(name: string, { id, begun, ended, how, behind, limit }: VersionQuery): VersionPage {
    const now = this.spaceNow(name);
    if (now === undefined) return { versions: [], state: this.noRows() };
    const by = id !== undefined ? 'id' : begun !== undefined ? 'from' : 'to';
    const test = id === undefined ? `${by}_pos > ? AND ${by}_pos <= ?` : 'id = ?';
    const range: readonly Cell[] = id === undefined ? (begun ?? ended ?? []) : [idCell(id)];
    const [order, beyond] = id === undefined ? ['ASC', '>'] : ['DESC', '<'];
    const start = behind === undefined ? [] : [behind[0], baseOf(now.space) + behind[1]];
    // Each side is read in this order, so SQLite merges them and reads no more than the page.
    const select = (of: 'rows' | 'past', place: string): string => {
      const isOfHow = of === 'past' && how !== undefined ? ` AND how = '${how}'` : '';
      const isBehind = behind === undefined ? '' : ` AND (${place}, row) ${beyond} (?, ?)`;
      const where = `WHERE space = ${now.space.number} AND ${test}${isOfHow}${isBehind}`;
      return `SELECT ${STATE[of]}, ${place} AS place FROM ${of} INDEXED BY ${of}_${by} ${where}`;
    };
    const selects = [
      ...(how === 'present' ? [] : [select('past', begun === undefined ? 'to_pos' : 'from_pos')]),
      ...(ended !== undefined || how === 'deleted' ? [] : [select('rows', begun === undefined ? NEVER : 'from_pos')]),
    ];
    const sql = `${selects.join(' UNION ALL ')} ORDER BY place ${order}, row ${order} LIMIT ?`;
    const states = this.#states(sql).all(...selects.flatMap(() => [...range, ...start]), limit);
    const versions = states.map((state) => ({ ...rowOf(state), to: state[8] ?? undefined, how: state[9] }));
    return { versions, state: now.state };
  }
}

const rowOf = ([row, key, id, from, created, updated, batch, data]: State): StoredRow => {
  return { id: idText(id), n: numberOf(row), key, from, created, updated, batch, data };
};
