/** A connection to the file of one tenant's rows, and what is read over it by id, by key and by position. */
import type {
  DumpLine,
  FoundRows,
  Parked,
  RowsQuery,
  SpaceState,
  Spaces,
  StoredRow,
  StoredVersion,
  TenantProgress,
  VersionPage,
  VersionQuery,
} from '../../../ports/rowStore.js';
import type { Database, Statement } from '../../openSqlite.js';
import { baseOf, type Cell, idCell, idText, numberOf, type Space } from './cells.js';

/** An index on demand: of columns in an order, or of the trigrams of one column. */
export type Index = {
  readonly name: string;
  /** `s3, id DESC`, or `text s3`. */
  readonly spec: string;
  /** Rows up to this n are in it; null: all. */
  readonly upto: number | null;
};

/** What a space is now. */
export type SpaceNow = {
  readonly space: Space;
  readonly indexes: readonly Index[];
  readonly state: SpaceState;
  /** Above the n of each row that there ever was. */
  readonly next: number;
};

const SPACE = `SELECT space, rows, next, changed, revision, last_event_at AS lastEventAt, shape FROM spaces WHERE name = ?`;
type SpaceCells = Omit<SpaceState, 'progress'> & {
  readonly space: number;
  readonly next: number;
  readonly shape: number;
};

export const NO_ROWS: SpaceState = { progress: 0, changed: 0, revision: -1, lastEventAt: '', rows: 0 };

type State = Omit<StoredVersion, 'n' | 'id' | 'to'> & {
  readonly row: number;
  readonly id: Buffer | string;
  readonly to: number | null;
};
const PRESENT = `SELECT row, key, id, from_pos AS "from", created, updated,
  (SELECT batch FROM seen WHERE seen.row = rows.row) AS batch, data, NULL AS "to", 'present' AS how FROM rows`;
const PAST =
  'SELECT row, key, id, from_pos AS "from", created, updated, batch, data, to_pos AS "to", how AS how FROM past';

/** A position that no event has: where what is present ends. */
const NEVER = Number.MAX_SAFE_INTEGER;
const MAX_STATEMENTS = 300;
const LINES_AT_A_TIME = 1_000;

export class Connection {
  readonly #statements = new Map<string, Statement<Cell[], unknown>>();
  readonly #spaces = new Map<string, { readonly shape: number; readonly space: Space; readonly indexes: Index[] }>();

  constructor(readonly db: Database) {}

  /** Prepared once. Only the caller knows the type of its rows, which follows from the text. */
  query<Row>(sql: string): Statement<Cell[], Row> {
    return this.#prepare(sql, () => undefined);
  }

  /** Prepared once. Its rows are their first column. */
  column<Value>(sql: string): Statement<Cell[], Value> {
    return this.#prepare(`${sql} `, (statement) => statement.pluck());
  }

  run(sql: string, ...cells: Cell[]): number {
    return this.query(sql).run(...cells).changes;
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
    const text = this.column<string | null>('SELECT state FROM tenant').get() ?? null;
    const mark: 'filling' | Parked | undefined = text === null ? undefined : JSON.parse(text);
    const position = this.position();
    if (position === 0 && mark === undefined) return undefined;
    const rows = this.column<number>('SELECT coalesce(sum(rows), 0) FROM spaces').get() ?? 0;
    if (mark === undefined || mark === 'filling') return { position, state: mark ?? 'running', rows };
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
    const cells = this.query<SpaceCells>(SPACE).get(name);
    if (cells === undefined) return undefined;
    const { space: number, next, shape, ...state } = cells;
    let known = this.#spaces.get(name);
    if (known?.shape !== shape) {
      const text = (column: string) =>
        this.column<string>(`SELECT ${column} FROM spaces WHERE space = ?`).get(number) ?? '';
      const space = { number, name, assetType: JSON.parse(text('asset_type')), slots: JSON.parse(text('slots')) };
      const indexes = this.query<Index>('SELECT name, spec, upto FROM indexes WHERE space = ?').all(number);
      known = { shape, space, indexes };
      this.#spaces.set(name, known);
    }
    return { ...known, state: { progress: this.position(), ...state }, next };
  }

  spaces(): Spaces {
    const names = this.column<string>('SELECT name FROM spaces ORDER BY space').all();
    return new Map(
      names.flatMap((name) => {
        const now = this.spaceNow(name);
        return now === undefined ? [] : [[name, { assetType: now.space.assetType, state: now.state }]];
      }),
    );
  }

  /** The row with this number, or the state with this one among those of the past. */
  row(number: number, from: 'rows' | 'past' = 'rows'): StoredRow | undefined {
    const state = this.query<State>(from === 'rows' ? `${PRESENT} WHERE row = ?` : `${PAST} WHERE n = ?`).get(number);
    return state && rowOf(state);
  }

  rows(name: string, { ids, keys, at, withFormerIds = false }: RowsQuery): FoundRows {
    const now = this.spaceNow(name);
    if (now === undefined) return { rows: [], formerIds: new Map(), state: { ...NO_ROWS, progress: this.position() } };
    const { number } = now.space;
    const formerIds = new Map<string, string>();
    const rowBy = (column: 'id' | 'key', value: Cell) => {
      const is = `space = ? AND ${column} = ?`;
      if (at === undefined) return this.query<State>(`${PRESENT} WHERE ${is}`).get(number, value);
      return this.query<State>(
        `${PRESENT} WHERE ${is} AND from_pos <= ?
         UNION ALL ${PAST} INDEXED BY past_${column} WHERE ${is} AND from_pos <= ? AND to_pos > ?`,
      ).get(number, value, at, number, value, at, at);
    };
    const states = ids.map((id) => rowBy('id', idCell(id)));
    for (const key of keys) {
      const state = rowBy('key', key);
      states.push(state);
      if (state !== undefined || !withFormerIds) continue;
      const former = this.column<Buffer | string>(
        `SELECT id FROM past INDEXED BY past_key WHERE space = ? AND key = ? AND how = 'deleted'
         ORDER BY to_pos DESC, n DESC LIMIT 1`,
      ).get(number, key);
      if (former !== undefined) formerIds.set(key, idText(former));
    }
    const found = new Map(states.flatMap((state) => (state === undefined ? [] : [[state.row, rowOf(state)]])));
    return { rows: [...found.values()], formerIds, state: now.state };
  }

  versions(name: string, { id, begun, ended, how, direction, behind, limit, withTotal }: VersionQuery): VersionPage {
    const now = this.spaceNow(name);
    const none = withTotal ? { total: 0 } : {};
    if (now === undefined) return { versions: [], ...none, state: { ...NO_ROWS, progress: this.position() } };
    const [column, place] = id !== undefined ? ['id', 'to'] : begun !== undefined ? ['from', 'from'] : ['to', 'to'];
    const range: Cell[] = id === undefined ? [...(begun ?? ended ?? [])] : [idCell(id)];
    const test = id === undefined ? `${column}_pos > ? AND ${column}_pos <= ?` : 'id = ?';
    const sides: { readonly select: string; readonly place: string; readonly rest: string }[] = [];
    if (how !== 'present') {
      const isOfHow = how === undefined ? '' : ` AND how = '${how}'`;
      const rest = `INDEXED BY past_${column} WHERE space = ? AND ${test}${isOfHow}`;
      sides.push({ select: PAST, place: `${place}_pos`, rest });
    }
    if (ended === undefined && (how ?? 'present') === 'present') {
      const rest = `INDEXED BY rows_${column} WHERE space = ? AND ${test}`;
      sides.push({ select: PRESENT, place: place === 'from' ? 'from_pos' : `${NEVER}`, rest });
    }
    const cells = [now.space.number, ...range];
    const start: Cell[] = behind === undefined ? [] : [behind[0], baseOf(now.space) + behind[1]];
    const versions: StoredVersion[] = [];
    let total = 0;
    // Those that are present end last, so only by where they begin are both mixed.
    for (const { select, place: by, rest } of direction === 'asc' ? sides : sides.toReversed()) {
      const isBehind = behind === undefined ? '' : ` AND (${by}, row) ${direction === 'asc' ? '>' : '<'} (?, ?)`;
      const sql = `${select} ${rest}${isBehind} ORDER BY ${by} ${direction}, row ${direction} LIMIT ?`;
      versions.push(
        ...this.query<State>(sql)
          .all(...cells, ...start, limit)
          .map(versionOf),
      );
      const count = `SELECT count(*) FROM${select.slice(select.lastIndexOf(' '))} ${rest}`;
      if (withTotal) total += this.column<number>(count).get(...cells) ?? 0;
    }
    const sign = direction === 'asc' ? 1 : -1;
    if (begun !== undefined) versions.sort((a, b) => sign * (a.from - b.from || a.n - b.n));
    return { versions: versions.slice(0, limit), ...(withTotal && { total }), state: now.state };
  }

  /** Everything as lines, for comparing two files. */
  *dump(): Iterable<DumpLine> {
    for (const space of [...this.spaces().keys()].sort()) {
      const now = this.spaceNow(space);
      if (now === undefined) continue;
      const { revision, lastEventAt, rows } = now.state;
      const text = JSON.stringify([revision, lastEventAt, rows, now.space.assetType]);
      yield { space, kind: 'space', id: '', text };
      const lineOf = (kind: DumpLine['kind'], state: State): DumpLine => {
        const { id, ...rest } = versionOf(state);
        return { space, kind, id, text: JSON.stringify(rest) };
      };
      const base = baseOf(now.space);
      const behind = this.query<State>(`${PRESENT} WHERE row > ? AND row < ? ORDER BY row LIMIT ${LINES_AT_A_TIME}`);
      for (let last: number | undefined = base; last !== undefined; ) {
        const states: readonly State[] = behind.all(last, base + now.next);
        for (const state of states) yield lineOf('row', state);
        last = states.at(-1)?.row;
      }
      const past = this.column<number>('SELECT n FROM past WHERE space = ? ORDER BY row, from_pos');
      for (const n of past.all(now.space.number)) {
        const state = this.query<State>(`${PAST} WHERE n = ?`).get(n);
        if (state !== undefined) yield lineOf('version', state);
      }
    }
  }
}

function rowOf(state: State): StoredRow {
  const { to, how, ...row } = versionOf(state);
  return row;
}

const versionOf = ({ row, id, to, ...state }: State): StoredVersion => ({
  ...state,
  id: idText(id),
  n: numberOf(row),
  to: to ?? undefined,
});
