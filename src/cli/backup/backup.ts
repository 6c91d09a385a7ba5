import { existsSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { backUpSqliteEventStore } from '../../adapters/eventstore/sqlite/logFile.js';
import { type Config, readConfig, version } from '../../config.js';
import { LAST_BACKUP_FILE } from '../../service/dataDirectory.js';
import { openStoredLog } from '../../service/engines.js';
import { CliError } from '../errors.js';
import { type LogProof, proofOf } from '../logProof.js';
import { columns, type JsonOption, printResult, withJson, withProgressBar } from '../output.js';
import { copyKeysAndId, DESCRIPTION, DRAFT, KEYS, LOG_FILE, sync, writePrivately } from './contents.js';

export function backupCommand(): Command {
  const definition = new Command('backup')
    .description(
      'Copy the event log and the keys into a directory that only you can read, while the service runs. With EVENTSTORE_URL the log is backed up on its server, and only the keys here.',
    )
    .argument('<directory>', 'made when it is missing; another one for each backup');
  return withJson(definition, 'DATA_DIR=data dynamic-assets backup backup/2026-11-22').action(backUp);
}

async function backUp(given: string, output: JsonOption): Promise<void> {
  const config = readConfig(process.env);
  const directory = resolve(given);
  const isEmbedded = config.EVENTSTORE_URL === undefined;
  if (isEmbedded && !existsSync(join(config.DATA_DIR, LOG_FILE)))
    throw new CliError(`There is no ${join(config.DATA_DIR, LOG_FILE)}.`);
  for (const name of [LOG_FILE, KEYS, DESCRIPTION])
    if (existsSync(join(directory, name)))
      throw new CliError(`${directory} holds ${name} already; name another directory.`);
  const draft = join(directory, DRAFT);
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  // The log first: the keys copied after it include every key that seals something in it.
  const log = isEmbedded ? await copyLog(config, draft) : undefined;
  const files = [...(isEmbedded ? [LOG_FILE] : []), ...(await copyKeysAndId(config.DATA_DIR, draft)), DESCRIPTION];
  const description = { format: 1, made_at: new Date().toISOString(), version: version(), ...(log && { log }) };
  await writePrivately(join(draft, DESCRIPTION), `${JSON.stringify(description, undefined, 2)}\n`);
  await putInPlace(draft, directory, files);
  await noteBackup(config.DATA_DIR, description.made_at);
  printResult(output, { directory, files, ...(log && { log }) }, [
    ...files.map((file) => join(directory, file)),
    ...(log === undefined ? [NOT_HERE] : logLines(log)),
    ...(config.SECRETS_KEY === undefined ? [] : ['SECRETS_KEY is not among them: keep it as well.']),
  ]);
}

const NOT_HERE = 'The event log is on its own server, and is backed up there (docs/engines.md, "EventStoreDB").';

/** A proof in words. */
export const logLines = ({ events, appends, streams, sha256 }: LogProof): string[] =>
  columns([
    ['events', `${events} of ${appends} appends in ${streams} streams`],
    ['SHA-256', sha256],
  ]);

/** Copies the log as of one moment, and proves the copy. */
async function copyLog(config: Pick<Config, 'DATA_DIR'>, draft: string): Promise<LogProof> {
  await backUpSqliteEventStore(join(config.DATA_DIR, LOG_FILE), join(draft, LOG_FILE));
  return proofOfFile(draft);
}

/** Proves the log in this directory. Its write-ahead log is merged into the file. */
export async function proofOfFile(directory: string): Promise<LogProof> {
  const log = await openStoredLog({ DATA_DIR: directory, DURABILITY: 'full', EVENTSTORE_URL: undefined });
  try {
    return await withProgressBar('prove {bar} {percentage}%', (onProgress) => proofOf(log, onProgress));
  } finally {
    await log.close();
  }
}

/** Written for /metrics, which report the backup's age. The backup is valid without it. */
async function noteBackup(dataDir: string, madeAt: string): Promise<void> {
  const file = join(dataDir, LAST_BACKUP_FILE);
  try {
    await writePrivately(`${file}.part`, `${madeAt}\n`);
    await rename(`${file}.part`, file);
  } catch (error) {
    process.stderr.write(
      `The backup is whole, but metrics will not tell of it: ${file} cannot be written. ${String(error)}\n`,
    );
  }
}

/** The description comes last: it marks a complete backup. */
async function putInPlace(draft: string, directory: string, files: readonly string[]): Promise<void> {
  const names = new Set(files.map((file) => file.split('/')[0] ?? file));
  for (const name of names) await rename(join(draft, name), join(directory, name));
  await rm(draft, { recursive: true });
  await sync(directory);
}
