/**
 * The command `backup`. A backup holds the event log (if embedded), the keys, the id of the log, and a description with the
 * log's proof.
 */
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { z } from 'zod';
import { backUpSqliteEventStore } from '../adapters/eventstore/sqlite/logFile.js';
import { readConfig, version } from '../config.js';
import { diskOf, KEYS, LAST_BACKUP_FILE, LOG_ID_FILE } from '../service/dataDirectory.js';
import { openStoredLog } from '../service/engines.js';
import { writeWhole } from '../supervision/files.js';
import { columns, command } from './command.js';
import { CliError } from './errors.js';
import { type LogProof, proofOf } from './logProof.js';

export const backup = command({
  name: 'backup',
  about:
    'Copy the event log and the keys into a directory that only you can read, while the service runs. With EVENTSTORE_URL, only the keys.',
  example: 'DATA_DIR=data dynamic-assets backup backup/2026-11-22',
  argument: ['<directory>', 'made if it is missing; each backup needs its own'],
  async run(_, given) {
    const { DATA_DIR, EVENTSTORE_URL, DISK_RESERVE } = readConfig(process.env);
    const directory = resolve(given);
    const original = EVENTSTORE_URL === undefined ? join(DATA_DIR, LOG_FILE) : undefined;
    if (original !== undefined && !existsSync(original)) throw new CliError(`There is no ${original}.`);
    for (const name of [LOG_FILE, KEYS, DESCRIPTION])
      if (existsSync(join(directory, name)))
        throw new CliError(`${directory} holds ${name} already; name another directory.`);
    const draft = join(directory, DRAFT);
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { recursive: true, mode: 0o700 });
    try {
      if (original !== undefined) await refuseForDisk(original, draft, DISK_RESERVE);
      // The log first: the keys copied after it include every key that seals something in it.
      if (original !== undefined) await backUpSqliteEventStore(original, join(draft, LOG_FILE));
      const log = original === undefined ? undefined : await proofOfFile(draft);
      const files = [...(log ? [LOG_FILE] : []), ...(await copyKeysAndId(DATA_DIR, draft)), DESCRIPTION];
      const description = { format: 1, made_at: new Date().toISOString(), version: version(), ...(log && { log }) };
      await writeWhole(join(draft, DESCRIPTION), `${JSON.stringify(description, undefined, 2)}\n`);
      await putInPlace(draft, directory, files);
      await noteBackup(DATA_DIR, description.made_at);
      return { directory, files, ...(log && { log }) };
    } finally {
      await rm(draft, { recursive: true, force: true });
    }
  },
  lines: ({ directory, files, log }) => [
    ...files.map((file) => join(directory, file)),
    ...(log === undefined ? [NOT_HERE] : logLines(log)),
    ...(process.env.SECRETS_KEY ? ['SECRETS_KEY is not part of it: keep it as well.'] : []),
  ],
});

const NOT_HERE = 'The event log is on its own server, and is backed up there (docs/engines.md, "EventStoreDB").';

/** The reserve is of the disk of the log. @throws CliError if the copy would go into it, or does not fit on another disk */
async function refuseForDisk(log: string, draft: string, diskReserve: number): Promise<void> {
  const [{ free }, { dev }, { dev: ofLog, size: merged }] = await Promise.all([diskOf(draft), stat(draft), stat(log)]);
  // The copy holds what waits beside the log to be merged into it, too.
  const size = merged + ((await stat(`${log}-wal`).catch(() => undefined))?.size ?? 0);
  const reserve = dev === ofLog ? diskReserve : 0;
  if (free - size < reserve)
    throw new CliError(
      `The backup needs ${size} bytes: ${free} are free on its disk, and ${reserve} are kept in reserve (DISK_RESERVE).`,
    );
}

/** A proof in words. */
export const logLines = ({ events, appends, streams, sha256 }: LogProof): string[] =>
  columns([
    ['events', `${events} of ${appends} appends in ${streams} streams`],
    ['SHA-256', sha256],
  ]);

/** Proves the log in this directory. Its write-ahead log is merged into the file. */
export async function proofOfFile(directory: string): Promise<LogProof> {
  const log = await openStoredLog({ DATA_DIR: directory, DURABILITY: 'full', EVENTSTORE_URL: undefined });
  try {
    return await proofOf(log);
  } finally {
    await log.close();
  }
}

/** Written for /metrics, which report the backup's age. The backup is valid without it. */
async function noteBackup(dataDir: string, madeAt: string): Promise<void> {
  await writeWhole(join(dataDir, LAST_BACKUP_FILE), `${madeAt}\n`).catch((error: unknown) => {
    process.stderr.write(`The backup is complete, but metrics will not show it. ${String(error)}\n`);
  });
}

/** The description comes last: it marks a complete backup. */
async function putInPlace(draft: string, directory: string, files: readonly string[]): Promise<void> {
  const names = new Set(files.map((file) => file.split('/')[0] ?? file));
  for (const name of names) await rename(join(draft, name), join(directory, name));
  await sync(directory);
}

export const LOG_FILE = 'events.db';
const DESCRIPTION = 'backup.json';
/** Backup and restore prepare their files here. Remains of a killed run are replaced. */
export const DRAFT = 'draft.part';

const description = z.looseObject({
  format: z.literal(1),
  /** Absent if the log is not embedded. */
  log: z.object({ streams: z.int(), appends: z.int(), events: z.int(), sha256: z.string() }).optional(),
});

/** Undefined for a backup of an earlier release. @throws CliError if it cannot be read */
export async function describedBackup(directory: string): Promise<z.output<typeof description> | undefined> {
  const file = join(directory, DESCRIPTION);
  if (!existsSync(file)) return undefined;
  try {
    return description.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    throw new CliError(`${file} is damaged, or was written by a newer release.`, { cause: error });
  }
}

/** Copies keys and the id of the log. @returns paths of the copies, relative to the directory */
export async function copyKeysAndId(from: string, to: string): Promise<string[]> {
  const copied: string[] = [];
  if (existsSync(join(from, LOG_ID_FILE))) copied.push(LOG_ID_FILE);
  if (existsSync(join(from, KEYS))) {
    await mkdir(join(to, KEYS), { mode: 0o700 });
    // Skips drafts of other processes.
    const names = (await readdir(join(from, KEYS))).filter((name) => /^[a-z][\w-]*\.(pem|key)$/.test(name));
    copied.push(...names.map((name) => join(KEYS, name)));
  }
  for (const name of copied) await copyPrivately(join(from, name), join(to, name));
  return copied;
}

/** Readable by its owner only, and synced to disk. */
export async function copyPrivately(from: string, to: string): Promise<void> {
  await copyFile(from, to);
  await chmod(to, 0o600);
  await sync(to);
}

/** Syncs a file, or a directory's entries, so that a rename survives a power failure. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
