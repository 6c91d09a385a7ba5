/** Output of commands: results on standard output, for programs or people; progress on standard error. */
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';

export type JsonOption = { readonly json?: true };

/** Completes a command that prints a result: adds the option `--json` and an example. */
export const withJson = (command: Command, example: string): Command =>
  withExample(command.option('--json', 'print one line of JSON'), example);

/** @param example as typed, with settings before the command */
export const withExample = (command: Command, example: string): Command =>
  command.addHelpText('after', `\nExample:\n  $ ${example}`);

/** One JSON document for programs, plain lines for people. */
export function printResult({ json }: JsonOption, value: unknown, lines: readonly string[]): void {
  if (json) process.stdout.write(`${JSON.stringify(value)}\n`);
  else printLines(...lines);
}

export function printLines(...lines: string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}

/** Pads all columns but the last to their widest cell. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Runs `work` with a progress bar, which is shown if standard error is a terminal. */
export async function withProgressBar<T>(
  format: string,
  work: (onProgress: (done: number, total: number, values?: object) => void) => Promise<T>,
): Promise<T> {
  const bar = new SingleBar({ format, clearOnComplete: true });
  bar.start(0, 0, { step: '', events: 0, records: 0 });
  try {
    return await work((done, total, values) => {
      bar.setTotal(total);
      bar.update(done, values);
    });
  } finally {
    bar.stop();
  }
}

/** Splits `a, b`. For options of commander. */
export const commaSeparated = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
