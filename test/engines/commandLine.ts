/**
 * The command line in a process that stays for the next command: a program of its own takes a fifth of a second to load. What a
 * program alone shows, such as a start, its signals, or settings of Node's, is run as one.
 */
import { type ChildProcess, execFile, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';

export const ENTRY = resolve('dist/bundle/index.js');
/** The same as modules: a process loads them once for all its commands. */
const MODULES = resolve('dist/cli/index.js');
const PROCESS = resolve('test/engines/commandProcess.mjs');
/** These go on until a signal comes. */
const PROGRAMS = ['start'];
/** How long it waits for the next command. */
const IDLE_MS = 2_000;

export type Finished = { readonly code: number; readonly stdout: string; readonly stderr: string };
export type CommandOptions = {
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** What is piped into it. */
  readonly input?: string | Buffer;
};
type Answer = Finished & { readonly isClean: boolean };

let waiting: ChildProcess | undefined;
let idle: NodeJS.Timeout | undefined;

/** The program; as modules where something is loaded before it, which may change them. */
export const entryFor = (env: NodeJS.ProcessEnv): string => (env.NODE_OPTIONS === undefined ? ENTRY : MODULES);

/** Runs `dynamic-assets` with these arguments, in the process that waits for one, or as a program. */
export async function runCommand(args: readonly string[], options: CommandOptions): Promise<Finished> {
  const isProgram =
    PROGRAMS.includes(args[0] ?? '') ||
    options.env.NODE_OPTIONS !== undefined ||
    !args.every((argument) => argument.isWellFormed());
  return isProgram ? runProgram(args, options) : runInProcess(args, options);
}

/** The same as a user does: `node dist/bundle/index.js …`. @param entry the program */
export function runProgram(
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

/** Commands that run at the same time have a process each. */
async function runInProcess(
  args: readonly string[],
  { directory, env, input = '' }: CommandOptions,
): Promise<Finished> {
  const child =
    waiting?.connected === true ? waiting : fork(PROCESS, [MODULES], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  waiting = undefined;
  clearTimeout(idle);
  child.channel?.ref();
  const { isClean, ...finished } = await new Promise<Answer>((resolve, reject) => {
    const ended = (code: number | null): void => reject(new Error(`${args.join(' ')} ended its process: ${code}`));
    child.once('exit', ended).once('message', (answer) => {
      child.off('exit', ended);
      resolve(answer as Answer);
    });
    child.send({ args, directory, env, stdin: Buffer.from(input).toString('base64') });
  });
  if (isClean && waiting === undefined) keep(child);
  else child.disconnect();
  return finished;
}

/**
 * Starts a process that takes commands over a socket, one after the other, until it is ended.
 * @returns its id
 */
export function serveCommands(socket: string): number {
  const child = spawn(process.execPath, [PROCESS, MODULES, socket], { stdio: 'ignore' });
  child.unref();
  return child.pid ?? 0;
}

let before: Promise<unknown> = Promise.resolve();

/** Runs a command in that process, after those that were asked for before. */
export function runCommandAt(socket: string, args: readonly string[], options: Omit<CommandOptions, 'input'>) {
  const done = before.then(() => askAt(socket, args, options));
  before = done.catch(() => {});
  return done;
}

async function askAt(
  socket: string,
  args: readonly string[],
  { directory, env }: Omit<CommandOptions, 'input'>,
): Promise<Finished> {
  const connection = connect(socket);
  connection.write(`${JSON.stringify({ args, directory, env, stdin: '' })}\n`);
  const lines = createInterface(connection);
  const ended = once(lines, 'close').then(() => Promise.reject(new Error(`${args.join(' ')} ended its process.`)));
  const [line] = await Promise.race([once(lines, 'line'), ended]);
  ended.catch(() => {});
  connection.destroy();
  return JSON.parse(line);
}

function keep(child: ChildProcess): void {
  waiting = child;
  idle = setTimeout(() => {
    if (waiting === child) waiting = undefined;
    child.disconnect();
  }, IDLE_MS).unref();
  child.unref();
  child.channel?.unref();
}
