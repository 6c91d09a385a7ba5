/** Damaged databases of SQLite. Where nothing is lost with the file, it is set aside, and another one takes its place. */
import { existsSync, renameSync, rmSync, statSync } from 'node:fs';
import { codeOf, type Database, openSqlite } from './openSqlite.js';

/** Bytes of a database of the embedded engines; up to this size, all its pages are checked when it is opened first. */
const MAX_BYTES_CHECKED_AT_START = 33_554_432;

/** What SQLite keeps beside a file has these names. */
const ENDS = ['', '-wal', '-shm'] as const;

/** SQLite found invalid pages, or a file of another kind. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

/** Removes the file, so that the next use creates another one. */
export function removeDatabase(file: string): void {
  for (const end of ENDS) rmSync(file + end, { force: true });
}

/** Keeps the file under this name, so that a person can look at it, in place of one that was kept before. */
export function setAside(file: string, aside: string): void {
  removeDatabase(aside);
  for (const end of ENDS) if (existsSync(file + end)) renameSync(file + end, aside + end);
}

/** Looks at all pages. @throws SQLite's error at the first damage */
export function checkPages(db: Database): void {
  const [said = 'ok'] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
  const inOneLine = said.replace(/^\*{3} in database \w+ \*{3}\s+/, '').replaceAll('\n', '; ');
  if (said !== 'ok') throw Object.assign(new Error(inOneLine), { code: 'SQLITE_CORRUPT' });
}

/** Looks at all pages of a file that is small enough to do so before each use. @throws SQLite's error at the first damage */
export function checkIfSmall(db: Database): void {
  if (statSync(db.name).size <= MAX_BYTES_CHECKED_AT_START) checkPages(db);
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
    checkIfSmall(db);
    return undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  } finally {
    db?.close();
  }
}
