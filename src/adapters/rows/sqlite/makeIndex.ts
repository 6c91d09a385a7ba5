/** Makes an index on demand, over a connection that writes nothing else. The tenant's own writes go on between pieces. */
import { setTimeout as delay } from 'node:timers/promises';
import { baseOf, type Cell } from './cells.js';
import { Connection } from './connection.js';
import { type IndexSpec, nameOf } from './indexes.js';
import { openTenantFile } from './layout.js';

/** More indexes on one table would slow every write down. */
const MOST_INDEXES = 40;
/** Rows whose trigrams are written at a time: some 50 ms. */
const ROWS_OF_PIECE = 2_000;
/** The writer gets its turn. */
const PAUSE_MS = 2;

export async function makeIndex(file: string, space: string, spec: IndexSpec): Promise<void> {
  const connection = new Connection(openTenantFile(file));
  try {
    if (!begin(connection, space, spec)) return;
    while (!addTexts(connection, space, spec)) await delay(PAUSE_MS);
  } finally {
    connection.db.close();
  }
}

/** @returns false if there is one already, or no such space any more */
function begin(connection: Connection, space: string, spec: IndexSpec): boolean {
  return connection.db
    .transaction(() => {
      const now = connection.spaceNow(space);
      if (now === undefined) return false;
      const name = nameOf(now.space, spec);
      if (connection.column('SELECT 1 FROM indexes WHERE name = ? AND upto IS NULL').get(name) !== undefined)
        return false;
      dropOldest(connection);
      const { number } = now.space;
      if (spec.kind === 'text') {
        connection.db.exec(`DROP TABLE IF EXISTS ${name};
          CREATE VIRTUAL TABLE ${name} USING fts5(c, content='', columnsize=0, tokenize='trigram case_sensitive 1');
          INSERT INTO ${name} (${name}, rank) VALUES ('automerge', 16)`);
      } else {
        const columns = spec.terms.map(({ column, descending }) => `${column}${descending ? ' DESC' : ''}`);
        connection.db.exec(`CREATE INDEX ${name} ON rows (${columns.join(', ')}) WHERE space = ${number}`);
      }
      const upto = spec.kind === 'text' ? 0 : null;
      connection.run('INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)', name, number, JSON.stringify(spec), upto);
      changeShape(connection, number);
      return true;
    })
    .immediate();
}

/** Adds the trigrams of the next rows. @returns whether all are there */
function addTexts(connection: Connection, space: string, spec: IndexSpec): boolean {
  if (spec.kind !== 'text') return true;
  return connection.db
    .transaction(() => {
      const now = connection.spaceNow(space);
      const index = now?.indexes.texts.find(({ slot }) => slot === spec.slot);
      // Another index may have taken its place.
      if (now === undefined || index?.upto === undefined) return true;
      const base = baseOf(now.space);
      const rows = connection
        .tuples<[row: number, text: Cell]>(
          `SELECT row, s${spec.slot} FROM rows WHERE row > ? AND row < ? ORDER BY row LIMIT ${ROWS_OF_PIECE}`,
        )
        .all(base + index.upto, base + now.next);
      for (const [row, text] of rows)
        if (typeof text === 'string')
          connection.run(`INSERT INTO ${index.name} (rowid, c) VALUES (?, ?)`, row - base, text);
      const isWhole = rows.length < ROWS_OF_PIECE;
      const upto = isWhole ? null : (rows.at(-1)?.[0] ?? base) - base;
      connection.run('UPDATE indexes SET upto = ? WHERE name = ?', upto, index.name);
      changeShape(connection, now.space.number);
      return isWhole;
    })
    .immediate();
}

type Stored = [name: string, space: number, spec: string];

function dropOldest(connection: Connection): void {
  const oldest = `SELECT name, space, spec FROM indexes ORDER BY rowid DESC LIMIT -1 OFFSET ${MOST_INDEXES - 1}`;
  for (const index of connection.tuples<Stored>(oldest).all()) drop(connection, index);
}

/** All of a space. Within a transaction. */
export function dropIndexes(connection: Connection, number: number): void {
  const all = connection.tuples<Stored>('SELECT name, space, spec FROM indexes WHERE space = ?').all(number);
  for (const index of all) drop(connection, index);
}

function drop(connection: Connection, [name, number, text]: Stored): void {
  const spec: IndexSpec = JSON.parse(text);
  connection.db.exec(`DROP ${spec.kind === 'text' ? 'TABLE' : 'INDEX'} IF EXISTS ${name}`);
  connection.run('DELETE FROM indexes WHERE name = ?', name);
  changeShape(connection, number);
}

function changeShape(connection: Connection, number: number): void {
  connection.run('UPDATE spaces SET shape = shape + 1 WHERE space = ?', number);
}
