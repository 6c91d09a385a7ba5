/** Errors of the command line: one message on standard error and an exit code for each; interruption by signals; an old Node. */
import { constants } from 'node:os';
import { CommanderError } from 'commander';
import { ValidationError } from '../commands/context.js';

export const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** An error that the caller can correct; the message says how. */
export class CliError extends Error {
  override readonly name: string = 'CliError';
  readonly exitCode: number = EXIT_FAILURE;
}

/** Contradictory options, or ones that name something unknown. */
export class UsageError extends CliError {
  override readonly exitCode = EXIT_USAGE;
}

/** Names that a message lists; beyond that it gives their number. */
const MAX_NAMES = 10;

/** An unknown name. The message lists the known ones. */
export class UnknownNameError extends UsageError {
  /**
   * @param what kind and given name: "tenant acme"
   * @param known the known names, most similar first (`nearestFirst`)
   * @param none what to do if there are none
   */
  constructor(what: string, known: readonly string[], none: string) {
    const more = known.length > MAX_NAMES ? ` and ${known.length - MAX_NAMES} more` : '';
    const there = known.length === 0 ? none : `There is: ${known.slice(0, MAX_NAMES).join(', ')}${more}.`;
    super(`There is no ${what}. ${there}`);
  }
}

const hasCode = (error: Error, code: string): boolean => 'code' in error && error.code === code;

/** Text for standard error; empty if commander has printed one. */
function messageOf(error: unknown): string {
  if (error instanceof CommanderError) return '';
  if (error instanceof ValidationError) return Object.values(error.errors).flat().join('\n');
  if (!(error instanceof Error)) return String(error);
  if (hasCode(error, 'EADDRINUSE'))
    return `${error.message}. Stop the program that listens there, or set PORT to another port.`;
  if (hasCode(error, 'EACCES')) return `${error.message}. Set DATA_DIR (and PORT) to values that this user may use.`;
  return error.message;
}

/**
 * Prints the error. @returns the exit code: 0 for help, 2 for wrong usage, 128 plus the number of a signal, 1 otherwise
 */
export function report(error: unknown): number {
  const message = messageOf(error);
  if (message !== '') process.stderr.write(`${message}\n`);
  if (error instanceof Error && process.env.LOG_LEVEL === 'debug') process.stderr.write(`${error.stack ?? ''}\n`);
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : EXIT_USAGE;
  return error instanceof CliError ? error.exitCode : EXIT_FAILURE;
}

const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** Shells add the signal's number to this. */
const EXIT_SIGNAL = 128;

/** A signal has ended the work. */
export class InterruptedError extends CliError {
  override readonly exitCode: number;

  constructor(signal: (typeof SIGNALS)[number], outcome: string) {
    super(`Stopped by ${signal}. ${outcome}`);
    this.exitCode = EXIT_SIGNAL + constants.signals[signal];
  }
}

/**
 * Runs work that ends early when its signal aborts. A second Ctrl-C ends the process at once.
 * @param outcome sentences about the state after an early end
 * @throws InterruptedError; errors of the work
 */
export async function interruptible<Result>(
  work: (signal: AbortSignal) => Promise<Result>,
  outcome: string,
): Promise<Result> {
  const stopping = new AbortController();
  const stop = (signal: (typeof SIGNALS)[number]): void => {
    process.stderr.write('Stopping: unfinished work is removed. The same signal again ends this at once.\n');
    stopping.abort(new InterruptedError(signal, outcome));
  };
  for (const signal of SIGNALS) process.once(signal, stop);
  try {
    return await work(stopping.signal);
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop);
  }
}

const OLDEST = [20, 19] as const;

/** @param version from `process.versions.node`. @returns why it is too old; undefined if it will do */
export function unfitNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `Node ${version} is too old: take Node 24, or at least ${OLDEST.join('.')}.`;
}
