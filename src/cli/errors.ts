/** Every error of the command line ends here: one message on standard error, and an exit code. */
import { CommanderError } from 'commander';
import { ValidationError } from '../commands/context.js';

export const EXIT_FAILURE = 1;
export const EXIT_USAGE = 2;

/** Something the caller can put right; the message says how. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  readonly exitCode: number = EXIT_FAILURE;
}

/** Options that do not go together, or name what is not there. */
export class UsageError extends CliError {
  override readonly exitCode = EXIT_USAGE;
}

/** How many names a message lists; of more it says how many there are. */
const MAX_NAMES = 10;

/** Something was named that does not exist. The message names what there is. */
export class UnknownNameError extends UsageError {
  /**
   * @param what what was looked for, with the name given: "tenant acme"
   * @param known the names there are, those first that are likely to be meant (`nearestFirst`)
   * @param none what to do where there are none
   */
  constructor(what: string, known: readonly string[], none: string) {
    const more = known.length > MAX_NAMES ? ` and ${known.length - MAX_NAMES} more` : '';
    const there = known.length === 0 ? none : `There is: ${known.slice(0, MAX_NAMES).join(', ')}${more}.`;
    super(`There is no ${what}. ${there}`);
  }
}

const hasCode = (error: Error, code: string): boolean => 'code' in error && error.code === code;

/** Lines for standard error; none where commander has spoken already. */
function messageOf(error: unknown): string {
  if (error instanceof CommanderError) return '';
  if (error instanceof ValidationError) return Object.values(error.errors).flat().join('\n');
  if (!(error instanceof Error)) return String(error);
  if (hasCode(error, 'EADDRINUSE')) return `${error.message}. Stop what listens there, or set PORT to another port.`;
  if (hasCode(error, 'EACCES')) return `${error.message}. Set DATA_DIR (and PORT) to what this user may use.`;
  return error.message;
}

/** Says what went wrong. @returns the exit code: 0 for help, 2 for wrong usage, 128 and its number after a signal, 1 for everything else */
export function report(error: unknown): number {
  const message = messageOf(error);
  if (message !== '') process.stderr.write(`${message}\n`);
  if (error instanceof Error && process.env.LOG_LEVEL === 'debug') process.stderr.write(`${error.stack ?? ''}\n`);
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILURE;
}
