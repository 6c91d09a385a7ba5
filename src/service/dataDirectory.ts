/** The data directory: what is in it, its disk, and that only its owner may look into it: it holds orders, secrets and keys. */
import { execFile } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { HISTORY_FILE } from '../api/metrics.js';
import type { Config } from '../config.js';

/** The id of the log that the directory belongs to. */
export const LOG_ID_FILE = 'log-id';
/** The processes that use the directory now; nothing in it outlives them. */
export const IN_USE = 'in-use';
/** When the directory was last backed up (ISO 8601). */
export const LAST_BACKUP_FILE = 'last-backup';
/** While it is there, no webhooks are sent (`webhooks.ts`). */
export const HELD_WEBHOOKS = 'webhooks-held';
/** Tenants, clients, users and webhooks between starts. Made from the log. */
export const DIRECTORY_FILE = 'directory.jsonl';
/** Databases with what SQLite keeps beside them. */
const DATABASE = /^[a-z]+\.db(?:-.+)?$/;
/** What `writeWhole` is writing. Earlier releases named a draft of the directory by its process. */
const DRAFT = /\.[\da-f-]{36}\.part$|^directory\.jsonl\.\d+$/;
/** A draft that has not changed for so long was left by a process that was killed. */
const LEFT_AFTER_MS = 600_000;
export const KEYS = 'keys';
/** The Merkle tree over the log, and the last checkpoint. Made from the log. */
export const AUDIT = 'audit';
/** Rows of tenants, in a file each. Made from the log. */
export const ROWS = 'rows';
/** Milliseconds between two looks at the free space of the disk. */
const DISK_CHECK_MS = 1_000;
const OTHERS = 0o077;
const STICKY = 0o1000;

/** Whether the entry is ours. Others are left alone. */
export const isOwnEntry = (name: string): boolean =>
  DATABASE.test(name) ||
  DRAFT.test(name) ||
  [LOG_ID_FILE, LAST_BACKUP_FILE, HISTORY_FILE, HELD_WEBHOOKS, DIRECTORY_FILE, KEYS, AUDIT, ROWS].includes(name);

/** When the directory was last backed up (milliseconds since 1970); undefined if unknown. */
export async function lastBackupAt(directory: string): Promise<number | undefined> {
  const text = await readFile(join(directory, LAST_BACKUP_FILE), 'utf8').catch(() => '');
  const at = Date.parse(text.trim());
  return Number.isNaN(at) ? undefined : at;
}

/**
 * A backup in a directory of its own below BACKUP_DIR, by the command, as a process: it ends at once when the signal aborts,
 * also while SQLite copies the log. What there is of a backup that did not end well is removed.
 * @throws Error with what the command says
 */
export async function backUp({ BACKUP_DIR }: Config, signal: AbortSignal): Promise<void> {
  if (BACKUP_DIR === undefined) throw new Error('Set BACKUP_DIR first.');
  const directory = join(BACKUP_DIR, new Date().toISOString().replaceAll(':', ''));
  const command = [process.argv[1] ?? '', 'backup', directory];
  try {
    await promisify(execFile)(process.execPath, command, { signal });
  } catch (error) {
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
    throw new Error(String(Object(error).stderr).trim());
  }
}

/** From here on files are created for the owner only, whatever umask was inherited. */
export const makeFilesPrivate = (): void => void process.umask(OTHERS);

async function removeDrafts(directory: string): Promise<void> {
  for (const name of await readdir(directory).catch(() => [])) {
    const file = join(directory, name);
    const { mtimeMs } = await stat(file).catch(() => ({ mtimeMs: Number.POSITIVE_INFINITY }));
    if (DRAFT.test(name) && mtimeMs + LEFT_AFTER_MS < Date.now()) await rm(file, { force: true });
  }
}

/**
 * Creates the directory if needed, and removes the access of others, to everything in it as well, and what is left of drafts.
 * @returns a sentence if they had access, or still have it
 */
export async function prepareDataDirectory({ DATA_DIR }: Pick<Config, 'DATA_DIR'>): Promise<string | undefined> {
  await mkdir(DATA_DIR, { recursive: true, mode: 0o700 });
  for (const each of ['.', AUDIT, KEYS]) await removeDrafts(join(DATA_DIR, each));
  const { mode } = await stat(DATA_DIR);
  if ((mode & OTHERS) === 0) return undefined;
  try {
    if ((mode & STICKY) !== 0) throw new Error('A sticky directory such as /tmp is shared on purpose.');
    await chmod(DATA_DIR, mode & 0o7700);
    return `Others could read or write ${DATA_DIR}; now only its owner can.`;
  } catch {
    return `Others can read or write ${DATA_DIR}, and this user cannot change that.`;
  }
}

/** Bytes of the disk of a directory: those that the service may still write, and all. */
export async function diskOf(directory: string): Promise<{ readonly free: number; readonly size: number }> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { free: bavail * bsize, size: blocks * bsize };
}

/** As of a moment ago. Without embedded engines next to nothing is written to the disk of DATA_DIR, and nothing is refused. */
export function openDiskReserve({ DATA_DIR, DISK_RESERVE, ...urls }: Config) {
  const isUsed = [urls.EVENTSTORE_URL, urls.MONGODB_URL, urls.RABBITMQ_URL].includes(undefined);
  // A disk that cannot be asked is no reason to refuse.
  let free = Number.POSITIVE_INFINITY;
  const measure = async (): Promise<void> => {
    ({ free } = await diskOf(DATA_DIR).catch(() => ({ free: Number.POSITIVE_INFINITY })));
  };
  const timer = setInterval(() => void measure(), DISK_CHECK_MS).unref();
  void measure();
  return {
    reserve: isUsed ? DISK_RESERVE : 0,
    get free() {
      return free;
    },
    stop: async () => clearInterval(timer),
  };
}
