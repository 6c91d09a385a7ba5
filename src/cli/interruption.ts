/** Ctrl-C and a supervisor's signal: long work ends cleanly and reports how things stand. */
import { constants } from 'node:os';
import { CliError } from './errors.js';

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
  outcome: () => string,
): Promise<Result> {
  const stopping = new AbortController();
  let by: (typeof SIGNALS)[number] | undefined;
  const listeners = SIGNALS.map((signal) => {
    const stop = (): void => {
      by ??= signal;
      process.stderr.write('Stopping: what was begun is cleared away. The same signal again ends this at once.\n');
      stopping.abort();
    };
    process.once(signal, stop);
    return [signal, stop] as const;
  });
  try {
    return await work(stopping.signal);
  } catch (error) {
    if (by === undefined || !isAbort(error)) throw error;
    throw new InterruptedError(by, outcome());
  } finally {
    for (const [signal, stop] of listeners) process.off(signal, stop);
  }
}

const isAbort = (error: unknown): boolean => error instanceof Error && error.name === 'AbortError';
