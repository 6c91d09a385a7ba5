#!/usr/bin/env node
/** The command line `dynamic-assets`: a table of commands, and what comes before and after each. */
import { existsSync } from 'node:fs';
import { Command } from 'commander';
import { version } from '../config.js';
import { makeFilesPrivate } from '../service/dataDirectory.js';
import { auditCommands } from './audit.js';
import { backup } from './backup.js';
import { doctor } from './doctor.js';
import { erase } from './erase.js';
import { report } from './errors.js';
import { installationCommands } from './installation.js';
import { migrate } from './migrate.js';
import { projectionCommands } from './projections.js';
import { restore } from './restore.js';
import { start } from './start.js';
import { tenantCommands } from './tenants.js';

const COMMANDS = [
  start,
  ...tenantCommands,
  ...installationCommands,
  ...projectionCommands,
  backup,
  restore,
  migrate,
  erase,
  ...auditCommands,
  doctor,
];

const GROUPS: { readonly [name: string]: string } = {
  tenant: 'Make, list and delete tenants, and set their quotas and guards.',
  client: 'Make API clients.',
  user: 'Add users of the platform, and give them new passwords.',
  webhook: 'Make webhooks; hold, resume and reseal those of the whole installation.',
  keys: 'Rotate the keys that sign access tokens.',
  projections: 'The rows of tenants, which all reads are answered from. The running service works on them.',
  audit: 'Evidence that the event log was not changed.',
};

makeFilesPrivate();

// Variables of the environment override the file.
if (existsSync('.env')) process.loadEnvFile('.env');

// A closed pipe, such as that of `head`, is not an error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await throwInsteadOfExit(program()).parseAsync(process.argv);
} catch (error) {
  // Threads of a failed start may still run.
  process.exit(report(error));
}

function program(): Command {
  const root = new Command('dynamic-assets')
    .description('Dynamic tables over one uniform REST interface, event-sourced.')
    .version(version())
    .addHelpText(
      'after',
      '\nSettings are environment variables: see "dynamic-assets config".\n\nExample:\n  $ dynamic-assets start',
    );
  const groups = new Map<string, Command>();
  for (const { name, definition } of COMMANDS) {
    const [first = '', second] = name.split(' ');
    if (second !== undefined && !groups.has(first)) {
      groups.set(first, new Command(first).description(GROUPS[first] ?? ''));
      root.addCommand(groups.get(first) ?? root);
    }
    (groups.get(first) ?? root).addCommand(definition);
  }
  return root;
}

/** Leaves exit codes to `report`. */
function throwInsteadOfExit(command: Command): Command {
  command.exitOverride().showHelpAfterError('Add --help to see what is allowed.');
  for (const sub of command.commands) throwInsteadOfExit(sub);
  return command;
}
