/** SQLite's driver, which only this file knows: a build of better-sqlite3 that brings its binaries (decision 0003). */
import Driver from '@rocicorp/zero-sqlite3';
import { errorCode } from '../supervision/errorCode.js';

export type Database = Driver.Database;
export type Statement<Parameters extends unknown[] = unknown[], Row = unknown> = Driver.Statement<Parameters, Row>;

/** Opens a connection. Creates the file if it is missing. */
export const openSqlite = (file: string, options?: Driver.Options): Database => new Driver(file, options);

/**
 * The code of an error of SQLite, such as `SQLITE_BUSY`; '' for other errors. The class does not tell: tests may load two
 * copies of the driver, each with its own class.
 */
export const codeOf = (error: unknown): string => {
  const code = String(errorCode(error) ?? '');
  return code.startsWith('SQLITE_') ? code : '';
};
