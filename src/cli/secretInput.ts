/** Reads secrets from the terminal or a pipe. They are never arguments, which all users of the system could see. */
import { isUtf8 } from 'node:buffer';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { MAX_PASSWORD_LENGTH } from '../domain/limits.js';
import { CliError } from './errors.js';

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
  const first = await typed('New password: ');
  if (first !== (await typed('Again: '))) throw new CliError('The two passwords are not the same.');
  return first;
}

/** Reads a line without echo. */
function typed(prompt: string): Promise<string> {
  process.stderr.write(prompt);
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: nowhere, terminal: true });
  return new Promise((resolve, reject) => {
    const end = (): void => {
      process.stderr.write('\n');
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
