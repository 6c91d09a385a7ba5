/** The command line `dynamic-assets`: one file for each command. */
import { Command } from 'commander';
import { version } from '../service/version.js';
import { clientCommand } from './client.js';
import { configCommand } from './configCommand.js';
import { demoCommand } from './demo.js';
import { migrateCommand } from './migrate.js';
import { projectionsCommand } from './projections.js';
import { startCommand } from './start.js';
import { tenantCommand } from './tenant.js';
import { userCommand } from './user.js';
import { webhookCommand } from './webhook.js';

export function program(): Command {
  const root = new Command('dynamic-assets')
    .description('Dynamic tables over one uniform REST interface, event-sourced.')
    .version(version())
    .showHelpAfterError('Add --help for what is allowed.')
    .addHelpText(
      'after',
      `
Settings are environment variables: see "dynamic-assets start --help" and "dynamic-assets config".

Example:
  $ dynamic-assets start`,
    );
  for (const command of [
    startCommand(),
    tenantCommand(),
    clientCommand(),
    userCommand(),
    webhookCommand(),
    projectionsCommand(),
    migrateCommand(),
    configCommand(),
    demoCommand(),
  ]) {
    root.addCommand(command);
  }
  return throwInsteadOfExit(root);
}

/** So that one place decides on exit codes. */
function throwInsteadOfExit(command: Command): Command {
  command.exitOverride().showHelpAfterError('Add --help for what is allowed.');
  for (const sub of command.commands) throwInsteadOfExit(sub);
  return command;
}
