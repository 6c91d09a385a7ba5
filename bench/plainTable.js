/** The limit of a batch upsert: the same rows going straight into SQLite, with the same indexes, in the same batches. */

import { v7 } from 'uuid';
import { openSqlite } from '../dist/adapters/openSqlite.js';
import { foldCase } from '../dist/domain/spaces.js';

const TEXTS = ['external_id', 'name', 'postal_zone', 'city_name', 'country'];

export function openPlainTable(file) {
  const db = openSqlite(file);
  db.pragma('journal_mode = WAL');
  db.pragma('synchronous = NORMAL');
  db.pragma('cache_size = -65536');
  const sorted = [...TEXTS, 'created_at', 'updated_at'];
  db.exec(`CREATE TABLE r (row INTEGER PRIMARY KEY, id BLOB, created_at INTEGER, updated_at INTEGER, key TEXT UNIQUE,
    ${TEXTS.map((name) => `${name} TEXT`)}, batch TEXT, doc TEXT);
    CREATE UNIQUE INDEX r_id ON r (id); ${sorted.map((name) => `CREATE INDEX r_${name} ON r (${name}, id);`).join('')}
    CREATE VIRTUAL TABLE f USING fts5(${TEXTS}, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');`);
  const insert = db.prepare(`INSERT INTO r VALUES (${Array(12).fill('?')})`);
  const insertText = db.prepare(`INSERT INTO f (rowid, ${TEXTS}) VALUES (?, ?, ?, ?, ?, ?)`);
  let row = 0;
  return {
    /** One batch in one transaction. @returns milliseconds */
    insert(places) {
      const start = performance.now();
      db.exec('BEGIN IMMEDIATE');
      for (const fields of places) {
        row += 1;
        const folded = TEXTS.map((name) => foldCase(fields[name]));
        const id = Buffer.from(v7().replaceAll('-', ''), 'hex');
        insert.run(row, id, row, row, fields.external_id, ...folded, 'first', JSON.stringify(fields));
        insertText.run(row, ...folded);
      }
      db.exec('COMMIT');
      return performance.now() - start;
    },
    close: () => db.close(),
  };
}
