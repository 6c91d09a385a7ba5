/** SQLite's driver: better-sqlite3 13, and 12 on Node 20, where 13 does not run (decision 0015). Both are used alike. */
import { createRequire } from 'node:module';
import type Sqlite from 'better-sqlite3';

const FIRST_NODE_OF_13 = 22;

const load = createRequire(import.meta.url);
const Driver: typeof Sqlite =
  Number.parseInt(process.versions.node, 10) < FIRST_NODE_OF_13 ? driverOfNode20() : load('better-sqlite3');

/** Opens a connection. Creates the file if it is missing. */
export const openSqlite = (file: string, options?: Sqlite.Options): Sqlite.Database => new Driver(file, options);

/**
 * The code of an error of SQLite, such as `SQLITE_BUSY`; '' for other errors. The class does not tell: tests may load two
 * copies of the driver, each with its own class.
 */
export const codeOf = (error: unknown): string => {
  const code = typeof error === 'object' && error !== null && 'code' in error ? String(error.code) : '';
  return code.startsWith('SQLITE_') ? code : '';
};

/** The package is optional, so that an installation on a newer Node needs no compiler. */
function driverOfNode20(): typeof Sqlite {
  try {
    return load('better-sqlite3-12');
  } catch (error) {
    throw new Error(
      'The embedded database could not be loaded. On Node 20 its package better-sqlite3-12 is compiled by "npm ci", which needs a C++ compiler, make and Python; Node 22 and newer need none of them.',
      { cause: error },
    );
  }
}
