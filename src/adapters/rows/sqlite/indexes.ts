/**
 * Indexes on demand: a list that took long for want of one asks for it, and later ones use it. They are made over a connection
 * that writes nothing else, and those of trigrams in pieces, between which the tenant's own writes go on.
 */
import { setTimeout as delay } from 'node:timers/promises';
import type { Sort } from '../../../ports/rowStore.js';
import { baseOf, type Cell, columnOf, numberOf, type Space } from './cells.js';
import { Connection, type Index } from './connection.js';
import { openTenantFile } from './layout.js';

/** More indexes on one table would slow every write down. */
const MOST_INDEXES = 40;
/** Rows whose trigrams are written at a time: some 50 ms. */
const ROWS_OF_PIECE = 2_000;
/** The writer gets its turn. */
const PAUSE_MS = 2;

const OF_TEXT = 'text ';
export const textSpec = (column: string): string => `${OF_TEXT}${column}`;

/**
 * The index that serves a sort, and whether it is read backwards.
 * @returns undefined where a term has no column
 */
export function sortSpec(space: Space, sort: readonly Sort[]): { spec: string; isBackwards: boolean } | undefined {
  const isBackwards = sort[0]?.direction === 'desc';
  const terms = sort.map(({ field, direction }) => {
    const column = field === 'n' ? 'row' : columnOf(space, field);
    return column && column + ((direction === 'desc') === isBackwards ? '' : ' DESC');
  });
  return terms.includes(undefined) ? undefined : { spec: terms.join(', '), isBackwards };
}

export async function makeIndex(file: string, space: string, spec: string): Promise<void> {
  const connection = new Connection(openTenantFile(file, {}, false));
  const isWhole = connection.db.transaction(() => addTo(connection, space, spec));
  try {
    while (!isWhole.immediate()) await delay(PAUSE_MS);
  } finally {
    connection.db.close();
  }
}

/** Begins the index, or goes on with it. @returns whether all rows are in it */
function addTo(connection: Connection, space: string, spec: string): boolean {
  const now = connection.spaceNow(space);
  if (now === undefined) return true;
  const { number } = now.space;
  const known = now.indexes.find((each) => each.spec === spec);
  if (known?.upto === null) return true;
  const name = known?.name ?? `i${number}_${spec.replaceAll(/\W+/g, '_')}`;
  const keep = (upto: number | null) => {
    connection.run('INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)', name, number, spec, upto);
    connection.run('UPDATE spaces SET shape = shape + 1 WHERE space = ?', number);
    return upto === null;
  };
  if (known === undefined) {
    const oldest = `SELECT name FROM indexes ORDER BY rowid LIMIT max(0, (SELECT count(*) FROM indexes) - ${MOST_INDEXES - 1})`;
    for (const old of connection.column<string>(oldest).all()) drop(connection, old);
    if (!spec.startsWith(OF_TEXT)) {
      connection.db.exec(`CREATE INDEX ${name} ON rows (${spec}) WHERE space = ${number}`);
      return keep(null);
    }
    connection.db.exec(`CREATE VIRTUAL TABLE ${name} USING fts5(c, content='', columnsize=0, tokenize='trigram case_sensitive 1');
      INSERT INTO ${name} (${name}, rank) VALUES ('automerge', 16)`);
  }
  const base = baseOf(now.space);
  const behind = `SELECT row, ${spec.slice(OF_TEXT.length)} AS text FROM rows WHERE row > ? AND row < ? ORDER BY row LIMIT ${ROWS_OF_PIECE}`;
  const rows = connection.query<{ row: number; text: Cell }>(behind).all(base + (known?.upto ?? 0), base + now.next);
  const insert = connection.query(`INSERT INTO ${name} (rowid, c) VALUES (?, ?)`);
  for (const { row, text } of rows) if (typeof text === 'string') insert.run(row - base, text);
  return keep(rows.length < ROWS_OF_PIECE ? null : numberOf(rows.at(-1)?.row ?? 0));
}

/** All of a space. Within a transaction. */
export function dropIndexes(connection: Connection, { number }: Space): void {
  for (const name of connection.column<string>('SELECT name FROM indexes WHERE space = ?').all(number))
    drop(connection, name);
}

function drop(connection: Connection, name: string): void {
  const { type, space } = connection
    .query<{ type: string; space: number }>(
      'SELECT type, space FROM indexes JOIN sqlite_master USING (name) WHERE name = ?',
    )
    .get(name) ?? { type: 'TABLE', space: 0 };
  connection.db.exec(`DROP ${type} IF EXISTS ${name}`);
  connection.run('DELETE FROM indexes WHERE name = ?', name);
  connection.run('UPDATE spaces SET shape = shape + 1 WHERE space = ?', space);
}

type TextChange = { readonly row: number; readonly old: readonly Cell[]; readonly next: readonly Cell[] };

/**
 * What a transaction changes of texts with trigrams. FTS5 writes out what it holds whenever a row comes out of order, and
 * whenever another table is written by a statement with a savepoint: so they are written last, index by index, in the order of
 * rows.
 */
export class TextChanges {
  readonly #connection: Connection;
  readonly #indexes: readonly Index[];
  readonly #changes: TextChange[] = [];

  constructor(connection: Connection, indexes: readonly Index[]) {
    this.#connection = connection;
    this.#indexes = indexes.filter(({ spec }) => spec.startsWith(OF_TEXT));
  }

  /** Before the row is written. @param next what its columns become; none if it is deleted */
  note(row: number, next: readonly Cell[]): void {
    const [first] = this.#indexes;
    if (first === undefined) return;
    const columns = this.#indexes.map(({ spec }) => spec.slice(OF_TEXT.length));
    const stored = this.#connection
      .query<Record<string, Cell>>(`SELECT ${columns.join(', ')} FROM rows WHERE row = ?`)
      .get(row);
    this.#changes.push({
      row,
      old: Object.values(stored ?? {}),
      next: columns.map((column) => next[Number(column.slice(1))] ?? null),
    });
  }

  write(): void {
    for (const [i, { name, upto }] of this.#indexes.entries())
      for (const { row, old, next } of this.#changes.toSorted((a, b) => a.row - b.row)) {
        const n = numberOf(row);
        if (old[i] === next[i] || (upto !== null && n > upto)) continue;
        if (typeof old[i] === 'string')
          this.#connection.run(`INSERT INTO ${name} (${name}, rowid, c) VALUES ('delete', ?, ?)`, n, old[i]);
        if (typeof next[i] === 'string')
          this.#connection.run(`INSERT INTO ${name} (rowid, c) VALUES (?, ?)`, n, next[i]);
      }
  }
}
