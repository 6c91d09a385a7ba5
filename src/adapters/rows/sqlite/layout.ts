/** The tables of a tenant's file of rows, how values are kept in their columns, and how a connection to the file is opened. */
import { existsSync } from 'node:fs';
import type { AssetField, AssetType } from '../../../domain/assetTypes/assetType.js';
import { type Fields, fieldRules, ownValue } from '../../../domain/assetTypes/fieldTypes.js';
import { isSought, sortValue } from '../../../domain/spaces.js';
import { type Database, isDamage, openSqlite, uuidBytes, uuidText } from '../../openSqlite.js';

/** Kept in `user_version`. Files hold nothing that the log does not: those of another layout are filled again. */
export const LAYOUT = 8;

/** Columns for values that are sought or sorted by. Further fields are read from `data`. */
export const SLOTS = Array.from({ length: 16 }, (_, slot) => `s${slot}`);

/** What a row and a state that it had are alike in. `data` is last, so that no other column is read behind a long one. */
export const COLUMNS = `row, space, key, id, from_pos, created, updated, ${SLOTS.join(', ')}, data`;

/**
 * `rows.row` is the number of the space × 2³² + n, the order of creation. `s<i>` is the sort value of a field; NULL sorts first.
 * Batch ids are apart, so that a batch that changes nothing writes nothing else. `spaces.shape` grows with its fields and
 * indexes. `indexes.upto`: rows up to this n are in it; NULL: it is none of trigrams.
 */
const TABLES = `
  CREATE TABLE tenant (one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, mark TEXT NOT NULL, cleaned INTEGER NOT NULL,
    bytes INTEGER NOT NULL);
  INSERT INTO tenant VALUES (1, 0, '{}', 0, 0);
  CREATE TABLE spaces (space INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, rows INTEGER NOT NULL, next INTEGER NOT NULL,
    changed INTEGER NOT NULL, revision INTEGER NOT NULL, last_event_at TEXT NOT NULL, shape INTEGER NOT NULL,
    asset_type TEXT NOT NULL, slots TEXT NOT NULL);
  CREATE TABLE rows (row INTEGER PRIMARY KEY, space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL,
    created TEXT NOT NULL, updated TEXT NOT NULL, ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE UNIQUE INDEX rows_id ON rows (space, id);
  CREATE INDEX rows_key ON rows (space, key) WHERE key IS NOT NULL;
  CREATE INDEX rows_from ON rows (space, from_pos);
  CREATE TABLE seen (row INTEGER PRIMARY KEY, batch TEXT);
  CREATE TABLE past (n INTEGER PRIMARY KEY, to_pos INTEGER NOT NULL, how TEXT NOT NULL, batch TEXT, row INTEGER NOT NULL,
    space INTEGER NOT NULL, key TEXT, id BLOB NOT NULL, from_pos INTEGER NOT NULL, created TEXT NOT NULL, updated TEXT NOT NULL,
    ${SLOTS.join(', ')}, data TEXT NOT NULL);
  CREATE INDEX past_id ON past (space, id);
  CREATE INDEX past_key ON past (space, key) WHERE key IS NOT NULL;
  CREATE INDEX past_from ON past (space, from_pos, row);
  CREATE INDEX past_to ON past (space, to_pos, row);
  CREATE TABLE indexes (name TEXT PRIMARY KEY, space INTEGER NOT NULL, spec TEXT NOT NULL, upto INTEGER);
`;

/** The log beside the file may have 64 MB before a commit copies it into the file, and keeps 4 MB. */
const PRAGMAS = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16384;
  PRAGMA journal_size_limit = 4194304;
`;

/** A reader's connection never removes the log beside the file when it closes. `timeoutMs`: it waits for another that writes. */
export type Opening = { readonly isReader?: boolean; readonly timeoutMs?: number };

export function openTenantFile(file: string, { isReader = false, timeoutMs = 5_000 }: Opening = {}): Database {
  if (!existsSync(file)) throw new UnusableRowsError(`The file ${file} is gone.`);
  const db = openSqlite(file, { timeout: timeoutMs, readonly: isReader });
  try {
    if (!isReader) db.exec(PRAGMAS);
    db.exec('PRAGMA cache_size = -16384; PRAGMA temp_store = MEMORY;');
    if (db.pragma('user_version', { simple: true }) !== LAYOUT)
      throw new UnusableRowsError(`The rows in ${file} have the layout of another release.`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

export function emptyTenantFile(file: string): Database {
  const db = openSqlite(file);
  db.exec(`${PRAGMAS} BEGIN; ${TABLES} PRAGMA user_version = ${LAYOUT}; COMMIT`);
  return db;
}

/** A tenant's rows are of another release, or somebody has removed their file. */
export class UnusableRowsError extends Error {
  override readonly name = 'UnusableRowsError';
}

/** Why a tenant's rows have to be made again. Undefined: the error says nothing of the rows. */
export const lossOf = (error: unknown): string | undefined =>
  error instanceof Error && (isDamage(error) || error instanceof UnusableRowsError) ? error.message : undefined;

export type Cell = string | number | null | Buffer;

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Sixteen bytes for a UUID. Other ids remain texts, so they are no UUID's equal. */
export const idCell = (id: string): Cell => (UUID.test(id) ? uuidBytes(id) : id);

/** Many ids in one statement: `id ${AMONG_IDS}`, with `idList` for its parameter. */
export const AMONG_IDS = `IN (SELECT iif(type = 'array', unhex(value ->> 0), value) FROM json_each(?))`;
export const idList = (ids: readonly string[]): string =>
  JSON.stringify(ids.map((id) => (UUID.test(id) ? [id.replaceAll('-', '')] : id)));
/** The same of keys, whose list is their JSON. */
export const AMONG_KEYS = 'IN (SELECT value FROM json_each(?))';

export const idText = (cell: Buffer | string): string =>
  typeof cell === 'string' ? cell : uuidText(cell.toString('hex'));

export type Space = {
  readonly number: number;
  readonly name: string;
  readonly assetType: AssetType;
  /** Names of the fields that have columns, by column. A field never moves to another one. */
  readonly slots: readonly string[];
};

const NUMBERS = 2 ** 32;
/** The first number that a row of the space may have; n is added to it. */
export const baseOf = ({ number }: Pick<Space, 'number'>): number => number * NUMBERS;
export const numberOf = (row: number): number => row % NUMBERS;

/**
 * The columns of a space whose asset type changes. Fields that rows may have values of already have none: their values remain
 * in `data`.
 */
export function slotsOf(assetType: AssetType, before?: Pick<Space, 'assetType' | 'slots'>): readonly string[] {
  const known = new Set([...(before?.slots ?? []), ...(before?.assetType.fields.map(({ name }) => name) ?? [])]);
  const added = assetType.fields.filter((field) => isSought(field) && !known.has(field.name));
  return [...(before?.slots ?? []), ...added.map(({ name }) => name)].slice(0, SLOTS.length);
}

export const slotCells = ({ slots }: Space, fields: Fields): Cell[] =>
  SLOTS.map((_, slot) => {
    const name = slots[slot];
    return name === undefined ? null : sortValue(ownValue(fields, name) ?? null);
  });

const COLUMNS_OF_ALL = new Map(Object.entries({ created_at: 'created', updated_at: 'updated', id: 'id', n: 'row' }));
/** The column of a field that has one. `n` is the order of creation. */
export const columnOf = ({ slots }: Space, field: string): string | undefined =>
  COLUMNS_OF_ALL.get(field) ?? SLOTS[slots.indexOf(field)];

/** Whether sort values and match texts of the field are the same. */
export const isText = ({ type, list }: AssetField): boolean => list === true || fieldRules(type).sortsAs === 'text';
