/** Runs the command line in a fresh directory, with nothing but these settings. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable } from 'node:stream';
import { ENTRY, type Finished, runCommand } from '../engines/commandLine.js';

export const REPOSITORY = resolve(__dirname, '../..');

export type Environment = Readonly<Record<string, string>>;

export const baseEnvironment = (): Environment => ({ PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' });

/** A directory of its own, to work in and to keep the data in. */
export class Workplace {
  readonly #services: RunningCli[] = [];

  private constructor(readonly directory: string) {}

  static async make(): Promise<Workplace> {
    return new Workplace(await mkdtemp(join(tmpdir(), 'cli-test-')));
  }

  /** Another one that begins with all that is in this one. */
  async copy(): Promise<Workplace> {
    const other = await Workplace.make();
    await cp(this.directory, other.directory, { recursive: true });
    return other;
  }

  /** @param input what is piped into it */
  run(args: readonly string[], environment: Environment = {}, input: string | Buffer = ''): Promise<Finished> {
    return runCommand(args, { directory: this.directory, env: { ...baseEnvironment(), ...environment }, input });
  }

  /** A command that must succeed, with its one line of JSON. */
  async json(args: readonly string[], environment: Environment = {}): Promise<unknown> {
    const { code, stdout, stderr } = await this.run([...args, '--json'], environment);
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}`);
    expect(stdout.split('\n')).toHaveLength(2);
    return JSON.parse(stdout);
  }

  /** `start` on a free port; resolves when it listens. */
  async start(environment: Environment = {}, ...options: readonly string[]): Promise<RunningCli> {
    const child = spawn(process.execPath, [ENTRY, 'start', ...options], {
      cwd: this.directory,
      env: { ...baseEnvironment(), PORT: '0', LOG_LEVEL: 'warn', ...environment },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const service = await RunningCli.listening(child);
    this.#services.push(service);
    return service;
  }

  async remove(): Promise<void> {
    for (const service of this.#services) await service.stop();
    await rm(this.directory, { recursive: true, force: true });
  }
}

export class RunningCli {
  readonly #child: ChildProcess;
  readonly #exited: Promise<number | null>;
  readonly #reader: Interface;
  readonly #lines: string[] = [];

  private constructor(child: ChildProcess, output: Readable) {
    this.#child = child;
    this.#reader = createInterface({ input: output });
    this.#reader.on('line', (line) => this.#lines.push(line));
    this.#exited = new Promise((done) => child.once('exit', (code) => done(code)));
  }

  static async listening(child: ChildProcess): Promise<RunningCli> {
    if (child.stdout === null) throw new Error('No output to read.');
    const service = new RunningCli(child, child.stdout);
    const ended = service.#exited.then((code) => {
      throw new Error(`The service ended with ${code} before it listened.`);
    });
    await Promise.race([service.printed('Listening on '), ended]);
    return service;
  }

  /** `http://localhost:<port>`. */
  get address(): string {
    return this.#lines.find((line) => line.startsWith('Listening on '))?.slice('Listening on '.length) ?? '';
  }

  get port(): string {
    return new URL(this.address).port;
  }

  /** `http://127.0.0.1:<port>`, where no name has to be looked up. */
  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Resolves when a line with this text is on standard output. */
  async printed(text: string): Promise<void> {
    while (!this.output.includes(text)) await once(this.#reader, 'line');
  }

  /** What is on standard output so far; the process prints on after it listens. */
  get output(): string {
    return this.#lines.join('\n');
  }

  /** SIGTERM. @returns the exit code */
  async stop(): Promise<number | null> {
    if (this.#child.exitCode === null) this.#child.kill('SIGTERM');
    return this.#exited;
  }
}
