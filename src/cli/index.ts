#!/usr/bin/env node
import { existsSync } from 'node:fs';
import { report } from './errors.js';
import { program } from './program.js';

// A file .env beside the project; what is in the environment already wins.
if (existsSync('.env')) process.loadEnvFile('.env');

// A reader that has seen enough, such as `head`, is no error.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program().parseAsync(process.argv);
} catch (error) {
  // A failed start may have left threads running.
  process.exit(report(error));
}
