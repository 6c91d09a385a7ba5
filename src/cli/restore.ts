import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { storedIdentity } from '../adapters/eventstore/everyStore.js';
import { holdAlone } from '../adapters/sqliteInUse.js';
import { type Config, readConfig } from '../config.js';
import { HELD_WEBHOOKS, isOwnEntry, LOG_ID_FILE, prepareDataDirectory } from '../service/dataDirectory.js';
import { DirectoryInUseError, type DirectoryUse, useDirectory } from '../service/directoryUse.js';
import { openStoredLog } from '../service/engines.js';
import { HOW_TO_RESUME, holdWebhooks } from '../service/webhooks.js';
import {
  copyKeysAndId,
  copyPrivately,
  DRAFT,
  describedBackup,
  KEYS,
  LOG_FILE,
  logLines,
  proofOfFile,
  sync,
  writePrivately,
} from './backup.js';
import { CliError, UsageError } from './errors.js';
import type { LogProof } from './logProof.js';
import { type JsonOption, printResult, withJson } from './output.js';

type RestoreOptions = JsonOption & { readonly replace?: true; readonly resumeWebhooks?: true };

export function restoreCommand(): Command {
  const definition = new Command('restore')
    .description(
      'Restore a backup into the data directory, and prove that its event log is the one that was backed up. Stop the service first. Rows and webhook jobs are made again from the log at the next start. Webhooks are held until "webhook resume": a copy must not call the receivers of the original.',
    )
    .argument('<directory>', 'what "backup" has made')
    .option('--replace', 'replace the contents of the data directory, which are kept in a directory inside it')
    .option('--resume-webhooks', 'send webhooks from the next start on, those that are open first');
  return withJson(definition, 'DATA_DIR=data dynamic-assets restore backup/2026-11-22').action(restore);
}

async function restore(given: string, { replace, resumeWebhooks, ...output }: RestoreOptions): Promise<void> {
  const config = readConfig(process.env);
  const directory = resolve(given);
  const { DATA_DIR } = config;
  refuseOtherEngine(config, directory);
  await prepareDataDirectory(config);
  const held = (await readdir(DATA_DIR)).filter(isOwnEntry);
  if (held.length > 0 && !replace) {
    throw new UsageError(
      `${DATA_DIR} is not empty: it holds ${held.join(', ')}. Name another DATA_DIR, or add --replace, which keeps them beside it.`,
    );
  }
  const use = await useAlone(DATA_DIR, held);
  try {
    await replaceBy({ directory, dataDir: DATA_DIR, held, isSending: resumeWebhooks === true }, output);
  } finally {
    use.release();
  }
}

/** @throws CliError that names the process using it */
async function useAlone(dataDir: string, held: readonly string[]): Promise<DirectoryUse> {
  try {
    return await useDirectory(dataDir, { what: 'dynamic-assets restore', alone: true });
  } catch (error) {
    if (!(error instanceof DirectoryInUseError)) throw error;
    const file = held.find((name) => name.endsWith('.db')) ?? '';
    throw new CliError(`${error.users.join(' and ')} runs: ${join(dataDir, file)} is in use. Stop the service first.`);
  }
}

type Replacing = {
  readonly directory: string;
  readonly dataDir: string;
  /** Names of what is there now. */
  readonly held: readonly string[];
  /** Whether webhooks are sent from the copy. */
  readonly isSending: boolean;
};

async function replaceBy({ directory, dataDir, held, isSending }: Replacing, output: JsonOption) {
  const release = holdDatabases(dataDir, held);
  const draft = join(dataDir, DRAFT);
  let proof: LogProof | undefined;
  try {
    await rm(draft, { recursive: true, force: true });
    await mkdir(draft, { mode: 0o700 });
    proof = await copyInto(draft, directory);
    if (!isSending) holdWebhooks({ DATA_DIR: draft }, `restored from ${directory}`);
  } catch (error) {
    await rm(draft, { recursive: true, force: true });
    throw error;
  } finally {
    release();
  }
  const aside = await putInPlace(dataDir, draft, held);
  const outcome = { data_dir: dataDir, log: proof ?? null, replaced: aside ?? null, webhooks_held: !isSending };
  printResult(output, outcome, [
    `${directory} is in place in ${dataDir}.`,
    ...(proof === undefined ? [] : logLines(proof)),
    ...(isSending ? [] : [`Its webhooks are held: nothing is sent. ${HOW_TO_RESUME}`]),
    ...(aside === undefined ? [] : [`The earlier contents are in ${aside}; remove them when you no longer need them.`]),
  ]);
}

/** @throws CliError if the directory holds no backup, or one for another engine */
function refuseOtherEngine({ DATA_DIR, EVENTSTORE_URL }: Config, directory: string): void {
  const hasLog = existsSync(join(directory, LOG_FILE));
  if (resolve(DATA_DIR) === directory) throw new UsageError('The backup and DATA_DIR are the same directory.');
  if (!hasLog && !existsSync(join(directory, KEYS))) throw new CliError(`${directory} holds no backup.`);
  if (hasLog && EVENTSTORE_URL !== undefined) {
    throw new CliError(
      'The backup holds an embedded event log, and EVENTSTORE_URL is set. Restore it into a DATA_DIR without that setting, then "dynamic-assets migrate" it.',
    );
  }
  if (!hasLog && EVENTSTORE_URL === undefined) {
    throw new CliError(
      'The backup holds keys only: its event log is on its own server. Set EVENTSTORE_URL, and restore the log with the tools of that server.',
    );
  }
}

/** @returns a function that releases them. @throws CliError if one of them is in use */
function holdDatabases(dataDir: string, held: readonly string[]): () => void {
  const releases: (() => void)[] = [];
  const releaseAll = (): void => {
    for (const release of releases) release();
  };
  for (const name of held.filter((each) => each.endsWith('.db'))) {
    const release = holdAlone(join(dataDir, name));
    if (release === undefined) {
      releaseAll();
      throw new CliError(`${join(dataDir, name)} is in use. Stop the service first.`);
    }
    releases.push(release);
  }
  return releaseAll;
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
      `The event log in ${directory} is not what was backed up: ${proof.events} events with SHA-256 ${proof.sha256} instead of ${expected.events} with ${expected.sha256}. Nothing was changed; take another backup.`,
    );
  }
  await nameLog(draft);
  await sync(join(draft, LOG_FILE));
  return proof;
}

/** Backups of earlier releases have the id of the log only in the log itself. */
async function nameLog(draft: string): Promise<void> {
  if (existsSync(join(draft, LOG_ID_FILE))) return;
  const log = await openStoredLog({ DATA_DIR: draft, DURABILITY: 'full', EVENTSTORE_URL: undefined });
  const id = await storedIdentity(log);
  await log.close();
  if (id !== undefined) await writePrivately(join(draft, LOG_ID_FILE), `${id}\n`);
}

/**
 * The id of the log exists at any time: a start between two of these steps fails for lack of a matching log, instead of
 * creating an empty one.
 * @returns where the previous files are; undefined if there were none
 */
async function putInPlace(dataDir: string, draft: string, held: readonly string[]): Promise<string | undefined> {
  const aside =
    held.length === 0 ? undefined : join(dataDir, `replaced-${new Date().toISOString().replaceAll(':', '')}`);
  if (aside !== undefined) {
    await mkdir(aside, { mode: 0o700 });
    if (held.includes(LOG_ID_FILE)) await copyFile(join(dataDir, LOG_ID_FILE), join(aside, LOG_ID_FILE));
  }
  if (existsSync(join(draft, LOG_ID_FILE))) await rename(join(draft, LOG_ID_FILE), join(dataDir, LOG_ID_FILE));
  else await rm(join(dataDir, LOG_ID_FILE), { force: true });
  for (const name of held) {
    // SQLite removes a database's auxiliary files when its last connection closes.
    const isThere = name !== LOG_ID_FILE && existsSync(join(dataDir, name));
    if (aside !== undefined && isThere) await rename(join(dataDir, name), join(aside, name));
  }
  // No start may find the log and send.
  for (const name of [HELD_WEBHOOKS, KEYS, LOG_FILE])
    if (existsSync(join(draft, name))) await rename(join(draft, name), join(dataDir, name));
  await rm(draft, { recursive: true });
  await sync(dataDir);
  return aside;
}
