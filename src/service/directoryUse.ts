/**
 * Which processes use a data directory, and which may use it together, by locks that the system frees however a process ends,
 * also in containers, where process ids mean nothing. A service with all roles and embedded engines shares the directory with nobody.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { lockFile } from '../adapters/openSqlite.js';
import { type Config, ROLES, type Role } from '../config.js';
import { sleep } from '../supervision/waiting.js';
import { IN_USE } from './dataDirectory.js';

/** Another process that asks whether the directory is used locks it for a moment. */
const ASKED_WITHIN_MS = 250;
const RETRY_MS = 50;

/** The process that came last, as it describes itself; missing if it could not be written, as on a full disk. */
const user = z.object({
  /** "a service with all roles (process 4711 on erp-1, http://localhost:3000, since 2026-11-25T09:00:00.000Z)". */
  shown: z.string(),
  /** Where it listens, if it does: `http://127.0.0.1:3000`. */
  address: z.string().optional(),
});
type DirectoryUser = z.output<typeof user>;

/** Another process uses the data directory, and this one may not share it. */
export class DirectoryInUseError extends Error {}

export type DirectoryUse = {
  /** Adds the service's address to its description. */
  listensAt(address: string): void;
  /** Ends the use. */
  release(): void;
};

/**
 * Begins to use the directory, creating it if needed.
 * @param isExclusive no other process may use the directory meanwhile
 * @throws DirectoryInUseError; what the file system throws
 */
export async function useDirectory(directory: string, what: string, isExclusive: boolean): Promise<DirectoryUse> {
  mkdirSync(join(directory, IN_USE), { recursive: true, mode: 0o700 });
  const release = await locked(directory, 'directory', isExclusive ? 'exclusive' : 'shared');
  if (release === undefined)
    throw new DirectoryInUseError(
      `The data directory ${directory} is in use by ${described(directory).shown}: stop it first, or set DATA_DIR to another directory.`,
    );
  const since = new Date().toISOString();
  const listensAt = (address?: string): void => {
    const facts = [`process ${process.pid} on ${hostname()}`, ...(address === undefined ? [] : [address])];
    const shown = `${what} (${facts.join(', ')}, since ${since})`;
    try {
      writeFileSync(fileOf(directory, 'last.json'), `${JSON.stringify({ shown, address })}\n`, { mode: 0o600 });
    } catch {
      // Only the lock counts.
    }
  };
  listensAt();
  return { listensAt, release };
}

/** Embedded rows belong to one process: with all engines embedded and all roles no other may use the data directory. */
export function useOwnDirectory(config: Config, roles: ReadonlySet<Role>) {
  const { DATA_DIR, EVENTSTORE_URL, MONGODB_URL } = config;
  const names = ROLES.filter((role) => roles.has(role));
  const isWhole = names.length === ROLES.length;
  const shown = isWhole ? 'all roles' : `the role${names.length > 1 ? 's' : ''} ${names.join(', ')}`;
  const isExclusive = isWhole && EVENTSTORE_URL === undefined && MONGODB_URL === undefined;
  return useDirectory(DATA_DIR, `a service with ${shown}`, isExclusive);
}

/**
 * Holds the rows in the directory, which only one process may write.
 * @returns releases them
 * @throws DirectoryInUseError
 */
export async function lockRows(directory: string): Promise<() => void> {
  const release = await locked(directory, 'rows', 'exclusive');
  if (release !== undefined) return release;
  throw new DirectoryInUseError(
    `Another process writes the rows in ${directory}: without MONGODB_URL only one process may have the role projector.`,
  );
}

/** The process that uses the directory now; of several, the one that came last. */
export function userOf(directory: string): DirectoryUser | undefined {
  if (!existsSync(join(directory, IN_USE))) return undefined;
  const release = lockFile(fileOf(directory, 'directory.lock'));
  release?.();
  return release === undefined ? described(directory) : undefined;
}

const fileOf = (directory: string, name: string): string => join(directory, IN_USE, name);

/** @returns undefined if another process holds it for all this time */
async function locked(directory: string, name: 'directory' | 'rows', how: 'exclusive' | 'shared') {
  const until = performance.now() + ASKED_WITHIN_MS;
  for (;;) {
    const release = lockFile(fileOf(directory, `${name}.lock`), how);
    if (release !== undefined || performance.now() >= until) return release;
    await sleep(RETRY_MS);
  }
}

function described(directory: string): DirectoryUser {
  try {
    return user.parse(JSON.parse(readFileSync(fileOf(directory, 'last.json'), 'utf8')));
  } catch {
    return { shown: 'a process that does not say what it is' };
  }
}
