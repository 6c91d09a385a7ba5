/**
 * The contents of a backup: the event log (if embedded), the keys, the id of the log, and a description with the log's
 * proof.
 */
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, open, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { LOG_ID_FILE } from '../../service/dataDirectory.js';
import { CliError } from '../errors.js';

export const LOG_FILE = 'events.db';
export const KEYS = 'keys';
export const DESCRIPTION = 'backup.json';
/** Backup and restore prepare their files here. Remains of a killed run are replaced. */
export const DRAFT = 'draft.part';

const description = z.looseObject({
  format: z.literal(1),
  made_at: z.string(),
  version: z.string(),
  /** Absent if the log is not embedded. */
  log: z.object({ streams: z.int(), appends: z.int(), events: z.int(), sha256: z.string() }).optional(),
});
export type Description = z.output<typeof description>;

/** Undefined for a backup of an earlier release. @throws CliError if it cannot be read */
export async function describedBackup(directory: string): Promise<Description | undefined> {
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
    // Skips drafts of other processes, whose names begin with a dot or have a suffix.
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

export async function writePrivately(file: string, text: string): Promise<void> {
  await writeFile(file, text, { mode: 0o600 });
  await sync(file);
}

/** Syncs a file, or a directory's entries, so that a rename survives a power failure. */
export async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r');
  await handle.sync();
  await handle.close();
}
