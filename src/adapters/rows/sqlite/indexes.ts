/**
 * Indexes on demand: a list that took long for want of one asks for it, and later ones use it. They are made over a connection
 * that writes nothing else, and those of trigrams in pieces, between which the tenant's own writes go on. Lists look at the
 * rows that were created since one by one, so writes of new rows make no trigrams: a list that this takes long asks for them.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { baseOf, type Cell, Connection, numberOf, textColumn } from './connection.js';
import { openTenantFile } from './files.js';

/** More indexes on one table would slow every write down. */
const MOST_INDEXES = 40;
/** Rows whose trigrams are written at a time: some 50 ms. */
const ROWS_OF_PIECE = 2_000;
const PAUSE_MS = 2;

export async function makeIndex(file: string, space: string, spec: string): Promise<void> {
  const connection = new Connection(openTenantFile(file));
  const isWhole = connection.db.transaction(() => addTo(connection, space, spec));
  try {
    while (!isWhole.immediate()) await delay(PAUSE_MS);
  } finally {
    connection.db.close();
  }
}

/** Begins the index, or goes on with it. @returns whether all rows are in it */
function addTo(connection: Connection, name: string, spec: string): boolean {
  const now = connection.spaceNow(name);
  const known = now?.indexes.find((each) => each.spec === spec);
  if (now === undefined) return true;
  const { space, next } = now;
  const [base, column] = [baseOf(space), textColumn(spec)];
  const index = `i${space.number}_${spec.replaceAll(/\W+/g, '_')}`;
  if (known === undefined) {
    const oldest = 'SELECT name FROM indexes ORDER BY rowid LIMIT max(0, (SELECT count(*) FROM indexes) - ?)';
    dropIndexes(connection, connection.column<string>(oldest).all(MOST_INDEXES - 1));
    connection.db.exec(
      column === undefined
        ? `CREATE INDEX ${index} ON rows (${spec}) WHERE space = ${space.number}`
        : `CREATE VIRTUAL TABLE ${index} USING fts5(c, content='', columnsize=0, tokenize='trigram case_sensitive 1');
           INSERT INTO ${index} (${index}, rank) VALUES ('automerge', 16)`,
    );
  } else if (known.upto === null || known.upto === next - 1) return true;
  let upto = column === undefined ? null : next - 1;
  if (column !== undefined) {
    const behind = `SELECT row, ${column} AS text FROM rows WHERE row > ? AND row < ? ORDER BY row LIMIT ${ROWS_OF_PIECE}`;
    const rows = connection.query<{ row: number; text: Cell }>(behind).all(base + (known?.upto ?? 0), base + next);
    const insert = connection.query(`INSERT INTO ${index} (rowid, c) VALUES (?, ?)`);
    for (const { row, text } of rows) if (typeof text === 'string') insert.run(row - base, text);
    if (rows.length === ROWS_OF_PIECE) upto = numberOf(rows.at(-1)?.row ?? 0);
  }
  connection.run('INSERT OR REPLACE INTO indexes VALUES (?, ?, ?, ?)', index, space.number, spec, upto);
  connection.run('UPDATE spaces SET shape = shape + 1 WHERE space = ?', space.number);
  return upto === null || upto === next - 1;
}

export function dropIndexes(connection: Connection, names: readonly string[]): void {
  for (const name of names) {
    connection.db.exec(`DROP ${name.includes('_text_') ? 'TABLE' : 'INDEX'} ${name}`);
    const space = connection.column<number>('DELETE FROM indexes WHERE name = ? RETURNING space').get(name) ?? 0;
    connection.run('UPDATE spaces SET shape = shape + 1 WHERE space = ?', space);
  }
}
