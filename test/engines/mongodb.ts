/**
 * A server that speaks MongoDB's protocol, for tests: the one MONGODB_URL names, else mongod on PATH, else, with
 * a Go toolchain, FerretDB 1.24 (see ferretdb/), started on a fresh directory, once a run. The driver is loaded only where it
 * is used: every service under test asks this file for its settings.
 */
import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { promisify } from 'node:util';
import { freePort } from './freePort.js';
import { onPath } from './onPath.js';
import { ServerProcess } from './serverProcess.js';
import { type Server, sharedServer } from './sharedServer.js';
import { scaled } from './timeScale.js';

const BUILD = resolve('test/engines/ferretdb/build.mjs');
const START_TIMEOUT_MS = scaled(60_000);
/** FerretDB is written in Go, and took a quarter of its time to collect the garbage of a small heap. */
const SELDOM_COLLECTED = { GOGC: 'off', GOMEMLIMIT: '512MiB' };
/** The first build of FerretDB fetches and compiles it. */
export const ENGINE_START_MS = 600_000;

/** Why there is no server that a test may stop; undefined when there is one. */
export const mongoDbServerMissing = (): string | undefined =>
  onPath('mongod') !== undefined || onPath('go') !== undefined
    ? undefined
    : 'neither mongod nor a Go toolchain is on PATH';

/** Why there is no MongoDB; undefined when there is one. */
export function mongoDbMissing(): string | undefined {
  if (process.env.MONGODB_URL !== undefined) return undefined;
  const missing = mongoDbServerMissing();
  return missing === undefined ? undefined : `MONGODB_URL is unset and ${missing}`;
}

export type AnyMongoDb = {
  /** The URL of a database that nobody has used; it is dropped by `dispose`. */
  freshUrl(): string;
  dispose(): Promise<void>;
};

/** The server that MONGODB_URL names, else one that the suites of a run share. */
export async function anyMongoDb(): Promise<AnyMongoDb> {
  const server =
    process.env.MONGODB_URL ??
    (await sharedServer('mongodb', async () => (await MongoDbServer.start()).outliveThisProcess()));
  const urls: string[] = [];
  return {
    freshUrl() {
      const url = withDatabase(server, `test_${randomUUID()}`);
      urls.push(url);
      return url;
    },
    async dispose() {
      for (const url of urls) await dropDatabase(url);
    },
  };
}

/** The setting of a service that is tested on MongoDB: a database of its own. Nothing where MONGODB_URL is unset. */
export function ownDatabase(): { readonly MONGODB_URL?: string } {
  const url = process.env.MONGODB_URL;
  return url === undefined ? {} : { MONGODB_URL: withDatabase(url, `test_${randomUUID()}`) };
}

/** `mongodb://host/?a=b` with another database. */
const withDatabase = (url: string, database: string): string =>
  url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?/, `$1/${database}`);

async function dropDatabase(url: string): Promise<void> {
  const { MongoClient } = await import('mongodb');
  const client = new MongoClient(url);
  try {
    await client.db().dropDatabase();
  } finally {
    await client.close();
  }
}

/** A server of the test's own, which it may stop, kill and start again on the same data. */
export class MongoDbServer extends ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly #directory: string;

  private constructor(directory: string, port: number) {
    super();
    this.#directory = directory;
    this.port = port;
    this.url = `mongodb://127.0.0.1:${port}/assets?directConnection=true`;
  }

  /** Resolves when it answers. @throws Error when it does not */
  static async start(): Promise<MongoDbServer> {
    const server = new MongoDbServer(await mkdtemp(join(tmpdir(), 'mongodb-')), await freePort());
    await server.start();
    return server;
  }

  /** After `stop` or `kill`: starts it again on its data. */
  async start(): Promise<void> {
    const [command, args] = onPath('mongod') !== undefined ? this.#mongod() : await this.#ferretDb();
    const child = spawn(command, args, { stdio: 'ignore', env: { ...process.env, ...SELDOM_COLLECTED } });
    this.server = child;
    await once(child, 'spawn');
    const deadline = Date.now() + START_TIMEOUT_MS;
    while (!(await this.#answers())) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`${command} did not start.`);
      await wait(20);
    }
  }

  #mongod(): [string, string[]] {
    return ['mongod', ['--dbpath', this.#directory, '--port', String(this.port), '--bind_ip', '127.0.0.1']];
  }

  async #ferretDb(): Promise<[string, string[]]> {
    const { stdout } = await promisify(execFile)(process.execPath, [BUILD]);
    return [stdout, [`127.0.0.1:${this.port}`, this.#directory]];
  }

  async #answers(): Promise<boolean> {
    const { MongoClient } = await import('mongodb');
    const client = new MongoClient(this.url, { serverSelectionTimeoutMS: 500 });
    try {
      const hello = await client.db('admin').command({ hello: 1 });
      return hello.isWritablePrimary === true;
    } catch {
      // Not yet; the caller asks again.
      return false;
    } finally {
      await client.close();
    }
  }

  /** Lets this process end without it. @returns what `endRun.cjs` ends */
  outliveThisProcess(): Server {
    this.server?.unref();
    return { url: this.url, pids: [Number(this.server?.pid)], directory: this.#directory };
  }

  protected pid(): number {
    return Number(this.server?.pid);
  }

  /** Ends it and removes its data. */
  async dispose(): Promise<void> {
    await this.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}
