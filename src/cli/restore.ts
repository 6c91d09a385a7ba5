/** The command `restore`: puts a backup into the data directory. */
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type Config, readConfig } from '../config.js';
import { HELD_WEBHOOKS, isOwnEntry, KEYS, LOG_ID_FILE, prepareDataDirectory } from '../service/dataDirectory.js';
import { useDirectory } from '../service/directoryUse.js';
import { HOW_TO_RESUME, holdWebhooks } from '../service/webhooks.js';
import {
  copyKeysAndId,
  copyPrivately,
  DRAFT,
  describedBackup,
  LOG_FILE,
  logLines,
  proofOfFile,
  sync,
} from './backup.js';
import { command, flag } from './command.js';
import { CliError, UsageError } from './errors.js';
import type { LogProof } from './logProof.js';

export const restore = command({
  name: 'restore',
  about:
    'Restore a backup into the data directory, and prove that its event log is the one that was backed up. Stop the service first. Webhooks are held until "webhook resume".',
  example: 'DATA_DIR=data dynamic-assets restore backup/2026-11-22',
  argument: ['<directory>', 'what "backup" has made'],
  options: {
    replace: flag('replace the contents of the data directory, which are kept in a directory inside it'),
  },
  async run({ replace }, given) {
    const config = readConfig(process.env);
    const directory = resolve(given);
    const { DATA_DIR } = config;
    refuseOtherEngine(config, directory);
    await prepareDataDirectory(config);
    const present = (await readdir(DATA_DIR)).filter(isOwnEntry);
    if (present.length > 0 && !replace)
      throw new UsageError(
        `${DATA_DIR} is not empty: it holds ${present.join(', ')}. Name another DATA_DIR, or add --replace, which keeps them beside it.`,
      );
    const use = await useDirectory(DATA_DIR, 'dynamic-assets restore', true);
    const draft = join(DATA_DIR, DRAFT);
    try {
      await rm(draft, { recursive: true, force: true });
      await mkdir(draft, { mode: 0o700 });
      const log = await copyInto(draft, directory);
      holdWebhooks({ DATA_DIR: draft });
      const replaced = await putInPlace(DATA_DIR, draft, present);
      return { data_dir: DATA_DIR, log: log ?? null, replaced: replaced ?? null };
    } finally {
      await rm(draft, { recursive: true, force: true });
      use.release();
    }
  },
  lines: ({ data_dir: dataDir, log, replaced }, _, directory) => [
    `${resolve(directory)} is in place in ${dataDir}.`,
    ...(log === null ? [] : logLines(log)),
    `Its webhooks are held: nothing is sent. ${HOW_TO_RESUME}`,
    ...(replaced === null
      ? []
      : [`The earlier contents are in ${replaced}; remove them when you no longer need them.`]),
  ],
});

/** @throws CliError if the directory holds no backup, or one for another engine */
function refuseOtherEngine({ DATA_DIR, EVENTSTORE_URL }: Config, directory: string): void {
  const hasLog = existsSync(join(directory, LOG_FILE));
  if (resolve(DATA_DIR) === directory) throw new UsageError('The backup and DATA_DIR are the same directory.');
  if (!hasLog && !existsSync(join(directory, KEYS))) throw new CliError(`${directory} holds no backup.`);
  if (hasLog && EVENTSTORE_URL !== undefined) {
    throw new CliError(
      'The backup holds an embedded event log, and EVENTSTORE_URL is set. Restore it without that setting, then "dynamic-assets migrate" it.',
    );
  }
  if (!hasLog && EVENTSTORE_URL === undefined) {
    throw new CliError('The backup holds keys only: its event log is on its own server. Set EVENTSTORE_URL.');
  }
}

/**
 * @returns the proof of the copied log; undefined if there is none. @throws CliError if it differs from the backup's
 *   proof
 */
async function copyInto(draft: string, directory: string): Promise<LogProof | undefined> {
  await copyKeysAndId(directory, draft);
  if (!existsSync(join(directory, LOG_FILE))) return undefined;
  // A copy made by hand may have a write-ahead log beside it.
  for (const name of [LOG_FILE, `${LOG_FILE}-wal`])
    if (existsSync(join(directory, name))) await copyPrivately(join(directory, name), join(draft, name));
  const expected = (await describedBackup(directory))?.log;
  const proof = await proofOfFile(draft);
  if (expected !== undefined && expected.sha256 !== proof.sha256) {
    throw new CliError(
      `The event log in ${directory} is not what was backed up: ${proof.events} events instead of ${expected.events}, or other ones. Nothing was changed; take another backup.`,
    );
  }
  await sync(join(draft, LOG_FILE));
  return proof;
}

/**
 * The id of the log exists at any time: a start between two of these steps fails for lack of a matching log, instead of
 * creating an empty one.
 * @returns where the previous files are; undefined if there were none
 */
async function putInPlace(dataDir: string, draft: string, present: readonly string[]): Promise<string | undefined> {
  const aside =
    present.length === 0 ? undefined : join(dataDir, `replaced-${new Date().toISOString().replaceAll(':', '')}`);
  if (aside !== undefined) {
    await mkdir(aside, { mode: 0o700 });
    if (present.includes(LOG_ID_FILE)) await copyFile(join(dataDir, LOG_ID_FILE), join(aside, LOG_ID_FILE));
  }
  if (existsSync(join(draft, LOG_ID_FILE))) await rename(join(draft, LOG_ID_FILE), join(dataDir, LOG_ID_FILE));
  else await rm(join(dataDir, LOG_ID_FILE), { force: true });
  for (const name of present) {
    // SQLite removes a database's auxiliary files when its last connection closes.
    const isThere = name !== LOG_ID_FILE && existsSync(join(dataDir, name));
    if (aside !== undefined && isThere) await rename(join(dataDir, name), join(aside, name));
  }
  // No start may find the log and send.
  for (const name of [HELD_WEBHOOKS, KEYS, LOG_FILE])
    if (existsSync(join(draft, name))) await rename(join(draft, name), join(dataDir, name));
  await sync(dataDir);
  return aside;
}
