/** What commands write: results on standard output, for programs or for people; progress on standard error. */
import { SingleBar } from 'cli-progress';
import type { Command } from 'commander';

export type JsonOption = { readonly json?: true };

/** Ends the definition of a command that prints a result: the option `--json`, and an example in the help. */
export const withJson = (command: Command, example: string): Command =>
  withExample(command.option('--json', 'print one line of JSON'), example);

/** @param example the command as it is typed, settings before it included */
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

/** Columns as wide as their widest cell; the last one is left as it is. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Runs `work` behind a progress bar, which shows where standard error is a terminal. `work` gives its progress to `onProgress`. */
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

/** Runs `work` behind a progress bar, then prints its count, its speed and what it returned. */
export async function timedStep(
  title: string,
  total: number,
  unit: string,
  work: (onProgress: (done: number) => void) => Promise<string>,
): Promise<void> {
  const started = performance.now();
  const note = await withProgressBar(`${title} {bar} {percentage}% {value}/{total}`, (onProgress) =>
    work((done) => onProgress(done, total)),
  );
  const seconds = (performance.now() - started) / 1000;
  const rate = Math.round(total / seconds).toLocaleString('en');
  printLines(`${title}: ${total.toLocaleString('en')} ${unit} in ${seconds.toFixed(1)} s, ${rate} a second; ${note}`);
}

/** `a, b` as its parts. For options of commander. */
export const commaSeparated = (text: string): string[] =>
  text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
