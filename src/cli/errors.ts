/** Errors of the command line: one message on standard error and an exit code for each. */
import { CommanderError } from 'commander';
import { ValidationError } from '../commands/context.js';
import { errorCode } from '../supervision/files.js';

export const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** An error that the caller can correct; the message says how. */
export class CliError extends Error {
  readonly exitCode: number = EXIT_FAILURE;
}

/** Contradictory options, or ones that name something unknown. */
export class UsageError extends CliError {
  override readonly exitCode = EXIT_USAGE;
}

/** Text for standard error; empty if commander has printed one. */
function messageOf(error: unknown): string {
  if (error instanceof CommanderError) return '';
  if (error instanceof ValidationError) return Object.values(error.errors).flat().join('\n');
  if (!(error instanceof Error)) return String(error);
  if (errorCode(error) === 'EADDRINUSE')
    return `${error.message}. Stop the program that listens there, or set PORT to another port.`;
  if (errorCode(error) === 'EACCES')
    return `${error.message}. Set DATA_DIR (and PORT) to values that this user may use.`;
  return error.message;
}

/**
 * Prints the error. @returns the exit code: 0 for help, 2 for wrong usage, 1 otherwise
 */
export function report(error: unknown): number {
  const message = messageOf(error);
  if (message !== '') process.stderr.write(`${message}\n`);
  if (error instanceof Error && process.env.LOG_LEVEL === 'debug') process.stderr.write(`${error.stack ?? ''}\n`);
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILURE;
}
