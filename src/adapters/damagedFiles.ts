/**
 * Damaged databases of SQLite. The thread that meets damage leaves a mark beside the file (`broker.db.damaged`), which
 * every thread and process sees, also after a crash. If nothing is lost with the file, its writer sets it aside and creates
 * a new one.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MAX_BYTES_CHECKED_AT_START } from '../domain/limits.js';
import { codeOf, type Database, openSqlite } from './openSqlite.js';

/** Damaged files of each database that are kept beside their replacement. */
const KEPT_DAMAGED_FILES = 2;

const MARK = '.damaged';
const BESIDE = ['-wal', '-shm'] as const;

/** SQLite found invalid pages, or a file of another kind. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

/** If the mark cannot be written, the next thread that meets the damage tries again. */
export function markDamaged(file: string): void {
  try {
    writeFileSync(`${file}${MARK}`, '', { mode: 0o600 });
  } catch {
    // The next one tries again.
  }
}

export const isMarkedDamaged = (file: string): boolean => existsSync(`${file}${MARK}`);

/**
 * Renames a marked file and those that SQLite keeps beside it. Keeps the last few of those set aside before.
 * @returns its new name; undefined if another process has renamed it
 */
export function setAside(file: string): string | undefined {
  const claimed = `${file}${MARK}.${process.pid}`;
  try {
    renameSync(`${file}${MARK}`, claimed);
  } catch {
    return undefined;
  }
  const aside = `${file}${MARK}-${new Date().toISOString().replaceAll(':', '')}`;
  // The file itself last, so that a new one has no remains of the old one beside it.
  for (const end of [...BESIDE, '']) if (existsSync(file + end)) renameSync(file + end, aside + end);
  for (const end of BESIDE) rmSync(file + end, { force: true });
  rmSync(claimed);
  const before = asideOf(file);
  for (const old of before.slice(0, Math.max(0, before.length - KEPT_DAMAGED_FILES)))
    for (const end of ['', ...BESIDE]) rmSync(old + end, { force: true });
  return aside;
}

/** Oldest first. */
function asideOf(file: string): readonly string[] {
  const start = `${basename(file)}${MARK}-`;
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(start) && !BESIDE.some((end) => name.endsWith(end)))
    .sort()
    .map((name) => join(dirname(file), name));
}

const inOneLine = (said: string): string => said.replace(/^\*{3} in database \w+ \*{3}\s+/, '').replaceAll('\n', '; ');

/** Looks at all pages. @returns SQLite's description of the first damage */
export function firstFault(db: Database): string | undefined {
  const [said = 'ok'] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
  return said === 'ok' ? undefined : said;
}

type DamageCheck = {
  /** Opens it read-only: otherwise closing would copy the write-ahead log into the file. */
  readonly isOnlyRead?: boolean;
  /** Checks all pages, however many there are. */
  readonly isWhole?: boolean;
};

/**
 * Checks a file before it is used: all pages of a small one, else those that opening needs.
 * @returns SQLite's description of the damage; undefined if none was found, or there is no file
 */
export function damageOf(file: string, { isOnlyRead = false, isWhole = false }: DamageCheck = {}): string | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database | undefined;
  try {
    db = openSqlite(file, { timeout: 5_000, fileMustExist: true, readonly: isOnlyRead });
    if (isWhole || statSync(file).size <= MAX_BYTES_CHECKED_AT_START) {
      const fault = firstFault(db);
      if (fault !== undefined) return inOneLine(fault);
    } else db.prepare('SELECT count(*) FROM sqlite_master').get();
    return undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  } finally {
    db?.close();
  }
}
