#!/usr/bin/env node
/** The command line `dynamic-assets`: one file or folder for each command. */
import { Command } from 'commander';
import { commit, version } from '../config.js';
import { makeFilesPrivate } from '../service/dataDirectory.js';
import { auditCommand } from './audit.js';
import { backupCommand } from './backup.js';
import { clientCommand } from './client.js';
import { configCommand } from './config.js';
import { consoleCommand } from './console.js';
import { doctorCommand } from './doctor/command.js';
import { loadEnvironmentFile, refuseUnknownSettings } from './environment.js';
import { eraseCommand } from './erase.js';
import { CliError, report, UsageError, unfitNode } from './errors.js';
import { keysCommand } from './keys.js';
import { migrateCommand } from './migrate.js';
import { withExample } from './output.js';
import { projectionsCommand } from './projections.js';
import { restoreCommand } from './restore.js';
import { startCommand } from './start.js';
import { tenantCommand } from './tenant.js';
import { userCommand } from './user.js';
import { webhookCommand } from './webhook.js';

makeFilesPrivate();

loadEnvironmentFile();

// A closed pipe, such as that of `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  const unfit = unfitNode(process.versions.node);
  if (unfit !== undefined) throw new CliError(unfit);
  // Node replaces invalid UTF-8 and lone surrogates by this character.
  if (process.argv.some((argument) => argument.includes('\ufffd')))
    throw new UsageError('An argument is not valid UTF-8.');
  await throwInsteadOfExit(program()).parseAsync(process.argv);
} catch (error) {
  // Threads of a failed start may still run.
  process.exit(report(error));
}

function program(): Command {
  const build = commit();
  const root = new Command('dynamic-assets')
    .description('Dynamic tables over one uniform REST interface, event-sourced.')
    .version(build === undefined ? version() : `${version()} (${build})`)
    .addHelpText(
      'after',
      '\nSettings are environment variables: see "dynamic-assets start --help" and "dynamic-assets config".',
    )
    .hook('preAction', () => refuseUnknownSettings())
    .addCommand(startCommand())
    .addCommand(tenantCommand())
    .addCommand(clientCommand())
    .addCommand(userCommand())
    .addCommand(webhookCommand())
    .addCommand(keysCommand())
    .addCommand(projectionsCommand())
    .addCommand(backupCommand())
    .addCommand(restoreCommand())
    .addCommand(migrateCommand())
    .addCommand(eraseCommand())
    .addCommand(auditCommand())
    .addCommand(doctorCommand())
    .addCommand(configCommand())
    .addCommand(consoleCommand());
  return withExample(root, 'dynamic-assets start');
}

/** Leaves exit codes to `report`. */
function throwInsteadOfExit(command: Command): Command {
  command.exitOverride().showHelpAfterError('Add --help to see what is allowed.');
  for (const sub of command.commands) throwInsteadOfExit(sub);
  return command;
}
