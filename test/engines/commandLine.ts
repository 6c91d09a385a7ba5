/** The command line, as a user runs it: `node dist/bundle/index.js …`. */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';

export const ENTRY = resolve('dist/bundle/index.js');
const MODULES = resolve('dist/cli/index.js');

export type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string };
type CommandOptions = {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** What is piped into it. */
  readonly input?: string | Buffer;
};

/** The program; as modules where something is loaded before it, which may change them. */
export const entryFor = (env: NodeJS.ProcessEnv): string => (env.NODE_OPTIONS === undefined ? ENTRY : MODULES);

export function runCommand(
  args: readonly string[],
  { directory, env, input = '' }: CommandOptions,
  entry: string = entryFor(env),
): Promise<Finished> {
  return new Promise((done) => {
    const child = execFile(process.execPath, [entry, ...args], { cwd: directory, env }, (error, stdout, stderr) =>
      done({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr }),
    );
    child.stdin?.end(input);
  });
}
