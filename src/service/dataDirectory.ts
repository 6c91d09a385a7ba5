/** The data directory holds orders, secrets and keys: only its owner may look inside, whatever it was before. */
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';

/** Holds the id of the log that the directory belongs to. */
export const LOG_ID_FILE = 'log-id';
/** Holds how many lanes the embedded read models have. */
export const LANES_FILE = 'projection-lanes';
/** Who uses the directory now; nothing that outlasts a process. */
export const IN_USE = 'in-use';
/** Says when a backup was last made of the directory (ISO 8601). */
export const LAST_BACKUP_FILE = 'last-backup';
/** Databases with what SQLite keeps beside them. */
const DATABASE_FILE = /\.db(?:-wal|-shm|-journal)?$/;
const KEYS = 'keys';
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Whether an entry of the directory is one of ours. Others are left alone. */
export const isOwnEntry = (name: string): boolean =>
  DATABASE_FILE.test(name) || [LOG_ID_FILE, LANES_FILE, LAST_BACKUP_FILE, KEYS].includes(name);

/** When a backup was last made of the directory (milliseconds since 1970); undefined where none is known of. */
export async function lastBackupAt(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, LAST_BACKUP_FILE), 'utf8').catch(() => '');
  const at = Date.parse(text.trim());
  return Number.isNaN(at) ? undefined : at;
}

/** Files are made for the owner alone from here on, whatever the shell or the container says. */
export const makeFilesPrivate = (): void => {
  process.umask(OTHERS);
};

export type DataDirectoryCheck = {
  /** What others could read or write until now. */
  readonly mended: readonly string[];
  /** What they still can, since this user may not change it; with the reason. */
  readonly open: readonly string[];
};

/** Makes the directory where it is missing, and takes access from all but its owner where it, or a file of ours in it, is open to others. */
export async function prepareDataDirectory({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<DataDirectoryCheck> {
  await mkdir(DATA_DIR, { recursive: true, mode: 0o700 });
  const mended: string[] = [];
  const open: string[] = [];
  for (const path of await ownPaths(DATA_DIR)) {
    try {
      if (await isMended(path)) mended.push(path);
    } catch (error) {
      // Another process may have removed it meanwhile, as SQLite does with what it keeps beside a database.
      if (codeOf(error) !== 'ENOENT') open.push(`${path} (${codeOf(error)})`);
    }
  }
  return { mended, open };
}

async function ownPaths(directory: string): Promise<readonly string[]> {
  // Other files in the directory are not ours.
  const files = (await readdir(directory)).filter((name) => isOwnEntry(name) && name !== KEYS);
  const within = await Promise.all([KEYS, IN_USE].map((name) => pathsIn(directory, name)));
  return [directory, ...[...files, ...within.flat()].map((name) => join(directory, name))];
}

async function pathsIn(directory: string, name: string): Promise<readonly string[]> {
  try {
    return [name, ...(await readdir(join(directory, name))).map((file) => join(name, file))];
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Whether it was open to others, and is no more. @throws Error when it cannot be changed */
async function isMended(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return false;
  // A directory such as /tmp is shared on purpose.
  if ((mode & STICKY) !== 0) throw Object.assign(new Error('It is shared.'), { code: 'sticky, so shared on purpose' });
  await chmod(path, mode & 0o7700);
  return true;
}

const codeOf = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : String(error);
