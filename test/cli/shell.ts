/** A shell that commands of a page are pasted into. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { copyFile, mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { ENTRY } from '../engines/commandLine.js';
import { REPOSITORY } from './cli.js';

/** Lets `npx dynamic-assets` in this directory find the built command, as it does in a clone. */
export async function linkCommand(directory: string): Promise<void> {
  const bin = join(directory, 'node_modules/.bin');
  await mkdir(bin, { recursive: true });
  await symlink(ENTRY, join(bin, 'dynamic-assets'));
}

/**
 * Ends at the first command that fails, also within a pipe. `curl` as pasted shows an error answer and succeeds: here it
 * fails, unless it is to show the status, as it does where an error is what the page is about.
 */
const PROLOGUE = `set -euo pipefail
trap 'kill $(jobs -p) 2>/dev/null' EXIT
curl() { case "$*" in *http_code*) command curl "$@";; *) command curl --fail-with-body "$@";; esac; }
`;

export class Shell {
  readonly #bash: ChildProcess;
  output = '';

  constructor(cwd: string, env: NodeJS.ProcessEnv) {
    this.#bash = spawn('bash', [], { cwd, env: { ...env, npm_config_update_notifier: 'false' } });
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream?.on('data', (chunk) => {
        this.output += String(chunk);
      });
    }
    this.#bash.stdin?.write(PROLOGUE);
  }

  /** @throws Error when a command of it fails */
  async paste(block: string): Promise<void> {
    const end = `pasted ${this.output.length}`;
    this.#bash.stdin?.write(`${block}\necho '${end}'\n`);
    while (!this.output.includes(end)) {
      if (this.#bash.exitCode !== null) throw new Error(`${block}ended with ${this.#bash.exitCode}:\n${this.output}`);
      await wait(20);
    }
  }

  close(): void {
    this.#bash.stdin?.end();
  }
}

/** Files in this directory that `git status` of a clone would show if they were made there. */
export async function shownByGit(directory: string): Promise<readonly string[]> {
  await copyFile(join(REPOSITORY, '.gitignore'), join(directory, '.gitignore'));
  const git = (...args: string[]) => promisify(execFile)('git', args, { cwd: directory });
  await git('init', '--quiet');
  const { stdout } = await git('ls-files', '--others', '--exclude-standard');
  return stdout.split('\n').filter((name) => name !== '' && name !== '.gitignore');
}
