/** Opens connections to a file of read models, and knows the version of its schema. */

import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { ReadModelsUnavailableError } from '../../../ports/readModels.js';
import { fileNumber, isDamage, markDamaged } from '../../damagedFiles.js';
import { type Database, openSqlite } from '../../openSqlite.js';
import { SHARED_TABLES } from './ddl.js';

/**
 * The file holds nothing that the log does not, so it is not migrated: with any change of its tables, or of what is in them,
 * this number grows, and files of other versions are emptied and filled from the log (docs/decisions/0047).
 */
const SCHEMA_VERSION = 19;

/** Above this (128 MB) the writer itself copies the WAL; mostly `WalCopier` has done so much sooner. */
const MAX_WAL_PAGES = 32_768;

export class OtherSchemaVersionError extends ReadModelsUnavailableError {
  override readonly name = 'OtherSchemaVersionError';
  constructor(file: string, version: number) {
    super(
      `The read models in ${file} have schema version ${version}, and this release has version ${SCHEMA_VERSION}. A service with the role projector fills them from the event log when it starts, and so does "dynamic-assets projections rebuild".`,
    );
  }
}

export type ConnectionOptions = {
  readonly file: string;
  /** Memory for pages. */
  readonly cacheMegabytes: number;
  readonly readOnly: boolean;
};

/**
 * Opens the file. Creates it and its tables where they are missing.
 * @throws OtherSchemaVersionError; ReadModelsUnavailableError when the file cannot be opened
 */
export function openConnection({ file, cacheMegabytes, readOnly }: ConnectionOptions): Database {
  let db: Database | undefined;
  try {
    db = openSqlite(file, { timeout: 10_000 });
    db.pragma('journal_mode = WAL');
    db.pragma('synchronous = NORMAL');
    db.pragma(`cache_size = ${-1024 * cacheMegabytes}`);
    db.pragma('mmap_size = 0');
    db.pragma(`wal_autocheckpoint = ${MAX_WAL_PAGES}`);
    // A file that has its tables is not locked: it can be opened while another connection writes.
    if (schemaVersion(db) === EMPTY) db.transaction(createTables).immediate(db);
    const version = schemaVersion(db);
    if (version !== SCHEMA_VERSION) throw new OtherSchemaVersionError(file, version);
    if (readOnly) db.pragma('query_only = ON');
    return db;
  } catch (error) {
    db?.close();
    if (error instanceof OtherSchemaVersionError) throw error;
    if (isDamage(error)) throw namingDamage(file, error);
    throw new ReadModelsUnavailableError(`The read models in ${file} cannot be opened.`, { cause: error });
  }
}

const EMPTY = 0;

const schemaVersion = (db: Database): number => Number(db.pragma('user_version', { simple: true }));

function createTables(db: Database): void {
  // Another connection may have created them since.
  if (schemaVersion(db) !== EMPTY) return;
  db.exec(SHARED_TABLES);
  db.pragma(`user_version = ${SCHEMA_VERSION}`);
}

/** Earlier read models had a file for each of several lanes, and a file with their number. */
const OF_LANES = /^(readmodels-\d+\.db|projection-lanes)/;

const ofLanes = (file: string): readonly string[] =>
  readdirSync(dirname(file))
    .filter((name) => OF_LANES.test(name))
    .map((name) => join(dirname(file), name));

export type Outdated = {
  /** Of its schema; undefined if it is that of this release. */
  readonly version: number | undefined;
  /** Files of lanes. */
  readonly lanes?: readonly string[];
};

/** Whether another release wrote the read models; undefined also if there are none, or damaged ones. */
export function findOutdated(file: string): Outdated | undefined {
  const [version, lanes] = [otherSchemaVersion(file), ofLanes(file)];
  if (lanes.length > 0) return { version, lanes };
  return version === undefined ? undefined : { version };
}

function otherSchemaVersion(file: string): number | undefined {
  if (!existsSync(file)) return undefined;
  let db: Database | undefined;
  try {
    db = openSqlite(file, { timeout: 5_000, fileMustExist: true });
    const version = schemaVersion(db);
    return version === SCHEMA_VERSION || version === EMPTY ? undefined : version;
  } catch (error) {
    if (isDamage(error)) return undefined;
    throw error;
  } finally {
    db?.close();
  }
}

/**
 * Puts an empty file in place of those of another release. It is made beside the old one, so that their numbers differ and
 * readers notice. A process that dies within leaves the old file, perhaps without its write-ahead log, or files of lanes:
 * they are outdated at the next start as well.
 */
export function replaceByEmpty(file: string): void {
  const empty = `${file}-empty`;
  writeFileSync(empty, '', { mode: 0o600 });
  for (const end of ['-wal', '-shm']) rmSync(file + end, { force: true });
  renameSync(empty, file);
  for (const each of ofLanes(file)) rmSync(each, { force: true });
}

/** Damaged files of read models. Nothing is lost: they are filled again from the log. */
export class ReadModelsDamagedError extends ReadModelsUnavailableError {
  override readonly name = 'ReadModelsDamagedError';
  constructor(file: string, options?: ErrorOptions & { readonly cause?: unknown }) {
    const said = options?.cause instanceof Error ? ` (${options.cause.message})` : '';
    super(
      `The read models in ${file} are damaged${said}. They are made of the event log: a service that runs sets the file aside and fills another one, and so does "dynamic-assets projections rebuild".`,
      options,
    );
  }
}

/**
 * Marks the file if the error is damage, so that the projector replaces it.
 * @param number of the file that was read: another one in its place is not marked
 * @returns the error to throw
 */
export function namingDamage(file: string, error: unknown, number = fileNumber(file)): unknown {
  if (error instanceof ReadModelsDamagedError) return error;
  if (!isDamage(error)) return error;
  if (fileNumber(file) === number) markDamaged(file);
  return new ReadModelsDamagedError(file, { cause: error });
}
