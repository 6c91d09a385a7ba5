/** SQLite: its driver, which only this file knows (a build of better-sqlite3 that brings its binaries, decision 0003), locks, and what is done about damaged files. */
import { existsSync, rmSync, statSync } from 'node:fs';
import Driver from '@rocicorp/zero-sqlite3';
import { uuidText } from '../domain/assetTypes/fieldTypes.js';
import { errorCode, messageOf } from '../supervision/files.js';

export { uuidText };

export type Database = Driver.Database;
export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = Driver.Statement<Parameters, Row>;

export const openSqlite = (file: string, options?: Driver.Options): Database => new Driver(file, options);

/**
 * The code of an error of SQLite, such as `SQLITE_BUSY`; '' for other errors. The class does not tell: tests may load two
 * copies of the driver, each with its own class.
 */
export const codeOf = (error: unknown): string => {
  const code = String(errorCode(error) ?? '');
  return code.startsWith('SQLITE_') ? code : '';
};

/** Bytes of a file; up to this size, all its pages are checked at the start. */
const MAX_BYTES_CHECKED_AT_START = 33_554_432;

/** The 16 bytes of a UUID (RFC 9562 §4), of which a database is smaller than of its text. */
export const uuidBytes = (text: string): Buffer => Buffer.from(text.replaceAll('-', ''), 'hex');

/** SQLite found invalid pages, or a file of another kind. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

export function removeDatabase(file: string): void {
  for (const end of ['', '-wal', '-shm']) rmSync(file + end, { force: true });
}

function checkPages(db: Database): void {
  const [said = 'ok'] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
  const inOneLine = said.replace(/^\*{3} in database \w+ \*{3}\s+/, '').replaceAll('\n', '; ');
  if (said !== 'ok') throw Object.assign(new Error(inOneLine), { code: 'SQLITE_CORRUPT' });
}

/**
 * Checks a file before it is used: all pages of a small one, else those that opening needs. Changes nothing.
 * @returns SQLite's description of the damage; undefined if none was found, or there is no file
 */
export function damageOf(file: string): string | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database | undefined;
  try {
    // Closing a connection that may write would copy the write-ahead log into the file.
    db = openSqlite(file, { timeout: 5_000, fileMustExist: true, readonly: true });
    db.prepare('SELECT count(*) FROM sqlite_master').get();
    if (statSync(file).size <= MAX_BYTES_CHECKED_AT_START) checkPages(db);
    return undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return messageOf(error);
  } finally {
    db?.close();
  }
}

/** With a write-ahead log the first fails while another connection is open, which holds a lock also while it is idle. */
const LOCKS = {
  exclusive: 'PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE; ROLLBACK',
  shared: 'BEGIN; SELECT count(*) FROM sqlite_schema',
} as const;

/**
 * Locks the file against all other connections, also of other processes, or only against exclusive ones. Creates it
 * if it is missing, and writes nothing.
 * @returns releases the lock; undefined if another connection is in the way
 */
export function lockFile(file: string, how: keyof typeof LOCKS = 'exclusive'): (() => void) | undefined {
  const db = openSqlite(file, { timeout: 0 });
  try {
    db.exec(LOCKS[how]);
  } catch (error) {
    db.close();
    if (codeOf(error).startsWith('SQLITE_BUSY')) return undefined;
    // Nobody has a damaged file open.
    if (isDamage(error)) return () => undefined;
    throw error;
  }
  return () => db.close();
}
