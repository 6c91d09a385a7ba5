/** Makes the data directory private: it holds orders, secrets and keys, so only its owner may read it. */
import { chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config } from '../config.js';
import { errorCode } from '../supervision/errorCode.js';

/** The id of the log that the directory belongs to. */
export const LOG_ID_FILE = 'log-id';
/** The processes that use the directory now; nothing in it outlives them. */
export const IN_USE = 'in-use';
/** When the directory was last backed up (ISO 8601). */
export const LAST_BACKUP_FILE = 'last-backup';
/** While it is there, no webhooks are sent (`webhooks.ts`). */
export const HELD_WEBHOOKS = 'webhooks-held';
/** Databases, and what is kept beside them: files of SQLite, and locks. */
const DATABASE_FILE = /^[a-z]+\.db(?:-.+)?$/;
export const KEYS = 'keys';
/** The Merkle tree over the log, and the last checkpoint. Made from the log. */
export const AUDIT = 'audit';
/** Rows of tenants, in a file each, which the directory's own mode protects. Made from the log. */
export const ROWS = 'rows';
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Whether the entry is ours. Others are left alone. */
export const isOwnEntry = (name: string): boolean =>
  DATABASE_FILE.test(name) || [LOG_ID_FILE, LAST_BACKUP_FILE, HELD_WEBHOOKS, KEYS, AUDIT, ROWS].includes(name);

/** When the directory was last backed up (milliseconds since 1970); undefined if unknown. */
export async function lastBackupAt(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, LAST_BACKUP_FILE), 'utf8').catch(() => '');
  const at = Date.parse(text.trim());
  return Number.isNaN(at) ? undefined : at;
}

/** From here on files are created for the owner only, whatever umask was inherited. */
export const makeFilesPrivate = (): void => {
  process.umask(OTHERS);
};

type DataDirectoryCheck = {
  /** Paths that others could access until now. */
  readonly mended: readonly string[];
  /** Paths that others still can access, because this user may not change them; with the reason. */
  readonly open: readonly string[];
};

/** Creates the directory if needed, and removes the access of others to it and to our files in it. */
export async function prepareDataDirectory({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<DataDirectoryCheck> {
  await mkdir(DATA_DIR, { recursive: true, mode: 0o700 });
  const mended: string[] = [];
  const open: string[] = [];
  for (const path of await ownPaths(DATA_DIR)) {
    try {
      if (await isMended(path)) mended.push(path);
    } catch (error) {
      // Another process may have removed it, as SQLite does with its side files.
      if (errorCode(error) !== 'ENOENT') open.push(`${path} (${errorCode(error) ?? String(error)})`);
    }
  }
  return { mended, open };
}

async function ownPaths(directory: string): Promise<readonly string[]> {
  // Files of others are left alone.
  const files = (await readdir(directory)).filter((name) => isOwnEntry(name) && name !== KEYS);
  const within = await Promise.all([KEYS, IN_USE].map((name) => pathsIn(directory, name)));
  return [directory, ...[...files, ...within.flat()].map((name) => join(directory, name))];
}

async function pathsIn(directory: string, name: string): Promise<readonly string[]> {
  try {
    return [name, ...(await readdir(join(directory, name))).map((file) => join(name, file))];
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}

/** Removes the access of others. @returns whether there was any. @throws Error when it cannot be changed */
async function isMended(path: string): Promise<boolean> {
  const { mode } = await stat(path);
  if ((mode & OTHERS) === 0) return false;
  // A sticky directory such as /tmp is shared on purpose.
  if ((mode & STICKY) !== 0) throw Object.assign(new Error('It is shared.'), { code: 'sticky, so shared on purpose' });
  await chmod(path, mode & 0o7700);
  return true;
}
