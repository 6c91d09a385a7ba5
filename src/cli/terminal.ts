/** What commands exchange with a terminal: lines of text, progress, and secrets, which are never arguments that all users of the system could see. */
import { isUtf8 } from 'node:buffer';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { SingleBar } from 'cli-progress';
import { MAX_PASSWORD_LENGTH } from '../domain/limits.js';
import { CliError } from './errors.js';

export function printLines(...lines: readonly string[]): void {
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
  bar.start(0, 0, { step: '', tenant: '' });
  try {
    return await work((done, total, values) => {
      bar.setTotal(total);
      bar.update(done, values);
    });
  } finally {
    bar.stop();
  }
}

/** UTF-8 has at most 4 bytes a character. */
const MAX_BYTES = 4 * (MAX_PASSWORD_LENGTH + 1);

/**
 * Reads a password: typed twice without echo if standard input is a terminal, otherwise piped, without the final line
 * break.
 * @throws CliError if it is empty, not valid text, or the two differ
 */
export async function readPassword(): Promise<string> {
  const password = process.stdin.isTTY ? await typedTwice() : await piped();
  if (password === '') throw new CliError('No password was given: type it, or pipe it in.');
  return password;
}

async function typedTwice(): Promise<string> {
  const first = await typed('New password: ', false);
  if (first !== (await typed('Again: ', false))) throw new CliError('The two passwords are not the same.');
  return first;
}

/** Reads a line. @param isShown whether it is echoed */
export function typed(prompt: string, isShown: boolean): Promise<string> {
  process.stderr.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const output = isShown ? process.stderr : nowhere;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  return new Promise((resolve, reject) => {
    const end = (): void => {
      if (!isShown) process.stderr.write('\n');
      lines.close();
    };
    lines.once('line', (line) => {
      resolve(line);
      end();
    });
    lines.once('SIGINT', () => {
      reject(new CliError('Nothing was changed.'));
      end();
    });
    // End of input (Ctrl-D); has no effect after a line.
    lines.once('close', () => resolve(''));
  });
}

async function piped(): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of process.stdin) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes > MAX_BYTES) throw new CliError(`A password has at most ${MAX_PASSWORD_LENGTH} characters.`);
  }
  const given = Buffer.concat(chunks);
  if (!isUtf8(given)) throw new CliError('The password is not valid UTF-8.');
  return given.toString('utf8').replace(/\r?\n$/, '');
}
