/**
 * Tracks which processes use a data directory, and which may use it together. Each keeps two files in `in-use/`: a
 * description for people, and a lock that the system frees however the process ends, also in containers, where process
 * ids mean nothing. A service with all roles and embedded engines needs the directory alone. All others share it.
 */
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { holdAlone } from '../adapters/sqliteInUse.js';
import { sleep } from '../supervision/waiting.js';
import { IN_USE } from './dataDirectory.js';

/** Seconds that a start waits for another service to release the data directory. */
const DATA_DIRECTORY_WAIT_SECONDS = 5;

/** Held while a process checks for others and adds itself. */
const GATE = 'gate.lock';
/** Held by the process that writes embedded rows. */
const ROWS_LOCK = 'rows.lock';
const LOCK = '.lock';
/** File name prefix of processes that use the directory alone. */
const ALONE = 'alone-';
const LOOK_AGAIN_MS = 100;

/** A process's description of itself; missing if it could not be written, as on a full disk. */
const description = z.object({
  /** Subject of a sentence: "a service with the role api". */
  what: z.string(),
  pid: z.int(),
  host: z.string(),
  /** Only of a service that listens. */
  address: z.string().optional(),
  since: z.iso.datetime(),
});
type Description = z.output<typeof description>;

type DirectoryUser = {
  /** Where the service listens, if it does: `http://127.0.0.1:3000`. */
  readonly address?: string;
  /** No other process may use the directory meanwhile. */
  readonly alone: boolean;
  /** "a service with all roles (process 4711 on erp-1, http://localhost:3000, since 2026-11-25T09:00:00.000Z)" */
  readonly shown: string;
};

/** Another process uses the data directory, and this one may not share it. */
export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError';
  constructor(
    directory: string,
    readonly users: readonly string[],
  ) {
    super(
      `The data directory ${directory} is in use by ${users.join(' and ')}: stop it first, or set DATA_DIR to another directory.`,
    );
  }
}

export type DirectoryUse = {
  /** Adds the service's address to its description. */
  listensAt(address: string): void;
  /** Ends the use. */
  release(): void;
};

type Wanted = Pick<Description, 'what'> & Pick<DirectoryUser, 'alone'>;

/**
 * Begins to use the directory, creating it if needed. Waits for a process that may be about to end, as in a restart.
 * @param onWait called once before waiting, with the users that are waited for; if unset, it does not wait
 * @throws DirectoryInUseError; what the file system throws
 */
export async function useDirectory(
  directory: string,
  wanted: Wanted,
  onWait?: (users: readonly string[], seconds: number) => void,
): Promise<DirectoryUse> {
  mkdirSync(join(directory, IN_USE), { recursive: true, mode: 0o700 });
  const until = performance.now() + DATA_DIRECTORY_WAIT_SECONDS * 1_000;
  for (let isFirst = true; ; isFirst = false) {
    const found = await withGate(directory, () => enter(directory, wanted));
    if (!Array.isArray(found)) return found;
    const users = found.map(({ shown }) => shown);
    if (onWait === undefined || performance.now() >= until) throw new DirectoryInUseError(directory, users);
    if (isFirst) onWait(users, DATA_DIRECTORY_WAIT_SECONDS);
    await sleep(LOOK_AGAIN_MS);
  }
}

/**
 * Holds the rows in the directory, which one process alone may write. Waits for one that may be about to end.
 * @returns releases them
 * @throws Error that says what to do
 */
export async function holdRows(directory: string): Promise<() => void> {
  const lock = join(directory, IN_USE, ROWS_LOCK);
  const until = performance.now() + DATA_DIRECTORY_WAIT_SECONDS * 1_000;
  for (;;) {
    const release = holdAlone(lock);
    if (release !== undefined) return release;
    if (performance.now() >= until)
      throw new Error(
        `Another process writes the rows in ${directory}: without MONGODB_URL one process alone may have the role projector.`,
      );
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The processes that use the directory now. */
export async function usersOf(directory: string): Promise<readonly DirectoryUser[]> {
  if (!existsSync(join(directory, IN_USE))) return [];
  return withGate(directory, () => livingUsers(directory));
}

async function withGate<Found>(directory: string, work: () => Found): Promise<Found> {
  const gate = join(directory, IN_USE, GATE);
  const until = performance.now() + DATA_DIRECTORY_WAIT_SECONDS * 1_000;
  let open = holdAlone(gate);
  while (open === undefined) {
    if (performance.now() >= until) throw new Error(`Another process holds ${gate}: it may have been halted. End it.`);
    await sleep(LOOK_AGAIN_MS / 10);
    open = holdAlone(gate);
  }
  try {
    return work();
  } finally {
    open();
  }
}

/** @returns the users that are in the way, if any */
function enter(directory: string, { what, alone }: Wanted): DirectoryUse | DirectoryUser[] {
  const inTheWay = livingUsers(directory).filter((user) => alone || user.alone);
  if (inTheWay.length > 0) return inTheWay;
  const path = join(directory, IN_USE, `${alone ? ALONE : 'shared-'}${randomUUID()}`);
  const free = holdAlone(`${path}${LOCK}`);
  if (free === undefined) throw new Error(`${path}${LOCK} cannot be locked.`);
  const about = { what, pid: process.pid, host: hostname(), since: new Date().toISOString() };
  const write = (text: Description): void => {
    try {
      writeFileSync(`${path}.draft`, `${JSON.stringify(text)}\n`, { mode: 0o600 });
      renameSync(`${path}.draft`, `${path}.json`);
    } catch {
      // Only the lock counts.
    }
  };
  write(about);
  return {
    listensAt: (address) => write({ ...about, address }),
    release() {
      remove(path);
      free();
    },
  };
}

/** Lists living users, and removes the files of dead ones. */
function livingUsers(directory: string): DirectoryUser[] {
  const locks = readdirSync(join(directory, IN_USE)).filter(
    (name) => name.endsWith(LOCK) && name !== GATE && name !== ROWS_LOCK,
  );
  return locks.flatMap((name) => {
    const path = join(directory, IN_USE, name.slice(0, -LOCK.length));
    const free = holdAlone(`${path}${LOCK}`);
    if (free === undefined) return [{ alone: name.startsWith(ALONE), ...describedUser(path) }];
    remove(path);
    free();
    return [];
  });
}

function describedUser(path: string): Pick<DirectoryUser, 'shown' | 'address'> {
  try {
    const { what, pid, host, address, since } = description.parse(JSON.parse(readFileSync(`${path}.json`, 'utf8')));
    const about = [`process ${pid} on ${host}`, ...(address === undefined ? [] : [address]), `since ${since}`];
    return { shown: `${what} (${about.join(', ')})`, ...(address === undefined ? {} : { address }) };
  } catch {
    return { shown: 'a process that does not say what it is' };
  }
}

function remove(path: string): void {
  for (const end of ['.draft', '.json', `${LOCK}-journal`, LOCK]) rmSync(`${path}${end}`, { force: true });
}
