/**
 * Damaged databases of SQLite. The thread that meets damage leaves a mark beside the file (`readmodels.db.damaged`), which
 * every thread and process sees, also after a crash. If nothing is lost with the file, its writer sets it aside and creates
 * a new one.
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

/** The inode: it tells whether another file has taken the place of the one that was opened. */
export function fileNumber(file: string): number | undefined {
  return statSync(file, { throwIfNoEntry: false })?.ino;
}

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

type DamageCheck = {
  /** Opens it read-only: otherwise closing would copy the write-ahead log into the file. */
  readonly isOnlyRead?: boolean;
  /** Checks all pages, however many there are. */
  readonly isWhole?: boolean;
  /** Commits that are missing in the middle of the write-ahead log do not count as damage. */
  readonly mayLackCommits?: boolean;
};

/**
 * Checks a file before it is used: all pages of a small one, else those that opening needs.
 * @returns SQLite's description of the damage; undefined if none was found, or there is no file
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
  /** SQLite's descriptions of the damage; empty if there is none. */
  readonly faults: readonly string[];
  /** How many tables were checked with their indexes, and how many there are. */
  readonly looked: number;
  readonly tables: number;
};

/**
 * Checks all pages of a file, table by table. It only reads, so writers do not wait.
 * @param goOn called before each table; false ends the check
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
 * SQLite reads a write-ahead log up to the first invalid frame, and ignores the rest as the remains of a crash. If a commit of
 * the same log follows, the invalid frames were damaged later, and some may have been copied into the file.
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

/** The number of frames that SQLite reads. */
function framesOf(db: Database.Database): number {
  const { log = 0 } = db.prepare<[], { readonly log: number }>('PRAGMA wal_checkpoint(NOOP)').get() ?? {};
  return Math.max(0, log);
}

function bytesAt(fd: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length);
  readSync(fd, bytes, 0, length, at);
  return bytes;
}
