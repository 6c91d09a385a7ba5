/**
 * Databases of SQLite that are damaged. Whoever meets it leaves a mark beside the file (`readmodels.db.damaged`), which
 * every thread and process sees, also after a crash. Where nothing is lost with the file, whoever writes it sets it aside
 * and makes a new one.
 */
import {
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type Database from 'better-sqlite3';
import { KEPT_DAMAGED_FILES, MAX_BYTES_CHECKED_AT_START } from '../domain/limits.js';
import { codeOf, openSqlite } from './openSqlite.js';

const MARK = '.damaged';
const BESIDE = ['-wal', '-shm'] as const;

/** SQLite found pages that cannot be right, or a file of another kind. */
export const isDamage = (error: unknown): boolean => /^SQLITE_(CORRUPT|NOTADB)/.test(codeOf(error));

/** Where it cannot be left, whoever meets the damage next tries again. */
export function markDamaged(file: string): void {
  try {
    writeFileSync(`${file}${MARK}`, '', { mode: 0o600 });
  } catch {
    // See above.
  }
}

export const isMarkedDamaged = (file: string): boolean => existsSync(`${file}${MARK}`);

/** Another file may be in place of the one that was opened. */
export function fileNumber(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

/**
 * Renames a marked file, with what SQLite keeps beside it; of those set aside before the last few are kept.
 * @returns its new name; undefined where another process has done so
 */
export function setAside(file: string): string | undefined {
  const claimed = `${file}${MARK}.${process.pid}`;
  try {
    renameSync(`${file}${MARK}`, claimed);
  } catch {
    return undefined;
  }
  const aside = `${file}${MARK}-${new Date().toISOString().replaceAll(':', '')}`;
  // The file last: whoever makes a new one finds nothing of the old one beside it.
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

type DamageCheck = {
  /** Nothing of it is changed, as closing would: it copies the write-ahead log into the file. */
  readonly isOnlyRead?: boolean;
  /** All pages, however many there are. */
  readonly isWhole?: boolean;
  /** It is no damage where commits are missing in the middle of the write-ahead log. */
  readonly mayLackCommits?: boolean;
};

/**
 * A look at a file before it is used: at all pages where there are not many of them, else at those that opening needs.
 * @returns what is wrong with it, in SQLite's words; undefined where nothing was found, or there is no file
 */
export function damageOf(
  file: string,
  { isOnlyRead = false, isWhole = false, mayLackCommits = false }: DamageCheck = {},
): string | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database.Database | undefined;
  try {
    db = openSqlite(file, { timeout: 5_000, fileMustExist: true, readonly: isOnlyRead });
    if (isWhole || statSync(file).size <= MAX_BYTES_CHECKED_AT_START) {
      const [first = 'ok'] = db.prepare<[], string>('PRAGMA quick_check(1)').pluck().all();
      if (first !== 'ok') return inOneLine(first);
    } else db.prepare('SELECT count(*) FROM sqlite_master').get();
    return !mayLackCommits && lacksCommits(db) ? 'commits are missing in the middle of its write-ahead log' : undefined;
  } catch (error) {
    if (!isDamage(error)) throw error;
    return error instanceof Error ? error.message : String(error);
  } finally {
    db?.close();
  }
}

export type PagesLooked = {
  /** What is wrong, in SQLite's words; none where all is well. */
  readonly faults: readonly string[];
  /** Tables whose pages and those of their indexes were looked at, and how many there are. */
  readonly looked: number;
  readonly tables: number;
};

/**
 * Looks at all pages of a file, table by table. Reads only: those who write are not held up.
 * @param goOn asked before each table
 */
export function lookAtPages(file: string, goOn: (looked: number, tables: number) => boolean): PagesLooked {
  const faults: string[] = [];
  let [looked, tables] = [0, 0];
  let db: Database.Database | undefined;
  try {
    db = openSqlite(file, { readonly: true, fileMustExist: true });
    const names = db
      .prepare<[], string>("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")
      .pluck()
      .all();
    tables = names.length;
    for (const name of names) {
      if (faults.length > 0 || !goOn(looked, tables)) break;
      const said = db
        .prepare<[], string>(`PRAGMA quick_check("${name.replaceAll('"', '""')}")`)
        .pluck()
        .all();
      faults.push(...said.filter((line) => line !== 'ok').map(inOneLine));
      looked += 1;
    }
  } catch (error) {
    if (!isDamage(error)) throw error;
    faults.push(error instanceof Error ? error.message : String(error));
  } finally {
    db?.close();
  }
  return { faults, looked, tables };
}

const WAL_HEADER = 32;
const FRAME_HEADER = 24;
/** Big-endian, the last bit says how checksums are made (https://www.sqlite.org/fileformat2.html#walformat). */
const WAL_MAGIC = 0x377f0682;

/**
 * SQLite reads a write-ahead log up to the first frame that is not whole, and takes the rest for what a crash left unfinished.
 * A commit of the same log behind it says that it was more: it may have been copied into the file in part.
 */
function lacksCommits(db: Database.Database): boolean {
  const wal = `${db.name}-wal`;
  const size = statSync(wal, { throwIfNoEntry: false })?.size ?? 0;
  if (size <= WAL_HEADER) return false;
  const fd = openSync(wal, 'r');
  try {
    const header = bytesAt(fd, 0, WAL_HEADER);
    if (header.readUInt32BE(0) >>> 1 !== WAL_MAGIC >>> 1) return true;
    const frameSize = FRAME_HEADER + header.readUInt32BE(8);
    const salts = header.subarray(16, 24);
    const valid = framesOf(db);
    for (let at = WAL_HEADER + valid * frameSize, n = valid; at + frameSize <= size; at += frameSize, n++) {
      const frame = bytesAt(fd, at, FRAME_HEADER);
      const isCommit = frame.readUInt32BE(4) > 0 && frame.subarray(8, 16).equals(salts);
      // Another process may have committed it since.
      if (isCommit && n >= framesOf(db)) return true;
    }
    return false;
  } finally {
    closeSync(fd);
  }
}

/** That SQLite reads. */
function framesOf(db: Database.Database): number {
  const { log = 0 } = db.prepare<[], { readonly log: number }>('PRAGMA wal_checkpoint(NOOP)').get() ?? {};
  return Math.max(0, log);
}

function bytesAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, at);
  return bytes;
}
