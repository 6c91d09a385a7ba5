/** A real EventStoreDB for tests: the one EVENTSTORE_URL names, else `eventstored` on PATH, started on a fresh directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './freePort.js';
import { onPath } from './onPath.js';
import { scaled } from './timeScale.js';

const START_TIMEOUT_MS = scaled(60_000);

const serverCommand = (): string | undefined => onPath('eventstored');

/** Why there is no EventStoreDB; undefined when there is one. */
export const eventStoreDbMissing = (): string | undefined =>
  process.env.EVENTSTORE_URL === undefined && serverCommand() === undefined
    ? 'EVENTSTORE_URL is unset and no eventstored is on PATH'
    : undefined;

/** Why there is no EventStoreDB that a test may stop; undefined when there is one. */
export const eventStoreDbServerMissing = (): string | undefined =>
  serverCommand() === undefined ? 'no eventstored is on PATH' : undefined;

/** The server that EVENTSTORE_URL names, else one of its own. */
export async function anyEventStoreDb(): Promise<{ readonly url: string; dispose(): Promise<void> }> {
  const url = process.env.EVENTSTORE_URL;
  return url === undefined ? EventStoreDbServer.start() : { url, dispose: async () => undefined };
}

/** A server of the test's own (version 23.10 or newer): one node, no TLS, a database on disk. */
export class EventStoreDbServer {
  readonly url: string;
  readonly #ports: { readonly http: number; readonly replication: number };
  readonly #directory: string;
  #process: ChildProcess | undefined;

  private constructor(directory: string, http: number, replication: number) {
    this.url = `esdb://127.0.0.1:${http}?tls=false`;
    this.#ports = { http, replication };
    this.#directory = directory;
  }

  /** Resolves when it takes calls. @throws Error with what it wrote, when it does not come up */
  static async start(): Promise<EventStoreDbServer> {
    const directory = await mkdtemp(join(tmpdir(), 'eventstoredb-'));
    const server = new EventStoreDbServer(directory, await freePort(), await freePort());
    await server.start();
    return server;
  }

  /** After `kill`: again on the same data and ports. */
  async start(): Promise<void> {
    const child = spawn(serverCommand() ?? 'eventstored', [], { env: this.#environment() });
    this.#process = child;
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await this.#isLive())) {
      const ended = child.exitCode !== null || child.signalCode !== null;
      if (ended || Date.now() > deadline) throw new Error(`EventStoreDB did not start. It wrote:\n${output}`);
      await wait(100);
    }
  }

  /** Ends it as a crash does. */
  kill(): Promise<void> {
    return this.#end('SIGKILL');
  }

  /** Lets it stand still, as a machine does that hangs: connections stay open and nothing answers. */
  freeze(frozen: boolean): void {
    this.#process?.kill(frozen ? 'SIGSTOP' : 'SIGCONT');
  }

  async dispose(): Promise<void> {
    await this.#end('SIGTERM');
    await rm(this.#directory, { recursive: true, force: true });
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    this.#process = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
  }

  async #isLive(): Promise<boolean> {
    try {
      return (await fetch(`http://127.0.0.1:${this.#ports.http}/health/live`)).status === 204;
    } catch {
      // Not yet; the caller asks again.
      return false;
    }
  }

  #environment(): NodeJS.ProcessEnv {
    return {
      PATH: process.env.PATH,
      HOME: this.#directory,
      EVENTSTORE_INSECURE: 'true',
      EVENTSTORE_MEM_DB: 'false',
      EVENTSTORE_DB: join(this.#directory, 'db'),
      EVENTSTORE_INDEX: join(this.#directory, 'index'),
      EVENTSTORE_LOG: join(this.#directory, 'log'),
      EVENTSTORE_RUN_PROJECTIONS: 'None',
      EVENTSTORE_MAX_APPEND_SIZE: '16000000',
      EVENTSTORE_TELEMETRY_OPTOUT: 'true',
      EVENTSTORE_NODE_IP: '127.0.0.1',
      EVENTSTORE_NODE_PORT: String(this.#ports.http),
      EVENTSTORE_REPLICATION_IP: '127.0.0.1',
      EVENTSTORE_REPLICATION_PORT: String(this.#ports.replication),
    };
  }
}
