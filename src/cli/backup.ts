import { existsSync } from 'node:fs';
import { copyFile, mkdir, readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { Command } from 'commander';
import { backUpSqliteEventStore } from '../adapters/eventstore/sqlite/backup.js';
import { type Config, readConfig } from '../config.js';
import { CliError } from './errors.js';
import { type JsonOption, printResult, withJson } from './output.js';

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
  const log = join(config.DATA_DIR, 'events.db');
  if (config.EVENTSTORE_URL === undefined && !existsSync(log)) throw new CliError(`There is no ${log}.`);
  for (const name of ['events.db', 'keys'])
    if (existsSync(join(directory, name)))
      throw new CliError(`${directory} holds ${name} already; name another directory.`);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const files = await copyKeys(config, directory);
  if (config.EVENTSTORE_URL === undefined) {
    await rm(join(directory, 'events.db.part'), { force: true });
    await backUpSqliteEventStore(log, join(directory, 'events.db'));
    files.unshift('events.db');
  }
  printResult(
    output,
    { directory, files },
    files.map((file) => join(directory, file)),
  );
}

/** @returns what was copied, by its path below the directory */
async function copyKeys({ DATA_DIR }: Pick<Config, 'DATA_DIR'>, directory: string): Promise<string[]> {
  const from = join(DATA_DIR, 'keys');
  if (!existsSync(from)) return [];
  await mkdir(join(directory, 'keys'), { mode: 0o700 });
  // Drafts that another process is just writing begin with a dot, or have more behind their name.
  const names = (await readdir(from)).filter((name) => /^[a-z][\w-]*\.(pem|key)$/.test(name));
  for (const name of names) await copyFile(join(from, name), join(directory, 'keys', name));
  return names.map((name) => join('keys', name));
}
