/**
 * Starts the real, built service as a process of its own on a fresh data directory, for tests through real HTTP.
 *
 *     const service = await startService({ tenants: { acme: 'dyn_stock_order' } });
 *     const acme = service.tenant('acme');
 *     await acme.create('dyn_item', { external_id: 'A1', name: 'Tea' });
 *     await service.dispose();
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { entryFor, type Finished, runCommand } from '../engines/commandLine.js';
import { ownDatabase } from '../engines/mongodb.js';
import { ownQueues } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { type Answer, type Outgoing, send } from './http.js';
import { withKeptTenants } from './keptTenants.js';
import { TenantClient } from './tenant.js';

export type OrderModel = 'dyn_stock_order' | 'dyn_transport_order';

export type ServiceOptions = {
  /** Made before the start. Without any, the service makes its sample tenant `demo`. */
  readonly tenants?: { readonly [name: string]: OrderModel };
  /** Settings beside the defaults below. */
  readonly env?: { readonly [name: string]: string };
};

const START_TIMEOUT_MS = scaled(60_000);
const LEVEL_ERROR = 50;

const createdTenant = z.object({
  tenant: z.string(),
  admin: z.object({ email: z.string(), password: z.string() }),
  client: z.object({ client_id: z.string(), client_secret: z.string(), scopes: z.array(z.string()) }),
});
export type CreatedTenant = z.output<typeof createdTenant>;

/** Makes the tenants, starts the service and resolves when it listens. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { tenants = {}, env = {} } = options;
  const service = new Service(await mkdtemp(join(tmpdir(), 'dynamic-assets-')), env);
  // A log on a server cannot be copied, and another release makes other tables.
  if (env.EVENTSTORE_URL === undefined && env.NODE_OPTIONS === undefined) await service.takeTenants(tenants);
  else for (const [name, model] of Object.entries(tenants)) await service.createTenant(name, model);
  await service.start();
  return service;
}

export class Service {
  readonly dataDir: string;
  readonly #env: NodeJS.ProcessEnv;
  readonly #args: readonly string[];
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 });
  readonly #tenants = new Map<string, TenantClient>();
  #process: ChildProcess | undefined;
  #port = 0;
  #log = '';

  /** @param args of the command `start` */
  constructor(dataDir: string, env: { readonly [name: string]: string }, args: readonly string[] = []) {
    this.dataDir = dataDir;
    this.#args = args;
    this.#env = {
      PATH: process.env.PATH,
      PORT: '0',
      HOST: '127.0.0.1',
      DATA_DIR: dataDir,
      BASE_HOST: 'localhost',
      LOG_LEVEL: 'warn',
      ...ownDatabase(),
      ...ownQueues(),
      ...env,
    };
  }

  /** Another one after each start. */
  get port(): number {
    return this.#port;
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error('The service does not run.');
    return pid;
  }

  /** Everything it wrote to standard error, JSON lines. */
  get log(): string {
    return this.#log;
  }

  /** Lines of the log of level error and above: what nobody foresaw. */
  get loggedErrors(): readonly string[] {
    return this.#log.split('\n').filter((line) => {
      const level = /^\{"level":(\d+)/.exec(line)?.[1];
      return level === undefined ? line !== '' : Number(level) >= LEVEL_ERROR;
    });
  }

  /** Resolves when it listens. @throws Error with what it wrote, when it ends instead */
  async start(): Promise<void> {
    const child = spawn(process.execPath, [entryFor(this.#env), 'start', ...this.#args], {
      cwd: this.dataDir,
      env: this.#env,
    });
    this.#process = child;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
    this.#port = await listeningPort(child, () => this.#log);
  }

  /** Ends it in good order. @returns its exit code */
  stop(): Promise<number | null> {
    return this.#end('SIGTERM');
  }

  /** Ends it as a crash does: no code of it runs any more. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
    // A connection to the dead process that is used again fails with an error that says nothing of the new one.
    this.#agent.destroy();
  }

  /** Stops it (or kills it) and starts it on the same data. */
  async restart(how: 'stop' | 'kill' = 'stop'): Promise<void> {
    await (how === 'kill' ? this.kill() : this.stop());
    await this.start();
  }

  /** Stops it and removes its data. */
  async dispose(): Promise<void> {
    await this.stop();
    this.#agent.destroy();
    await rm(this.dataDir, { recursive: true, force: true });
  }

  /** Runs the command line on the same data directory, beside the service. */
  cli(...args: string[]): Promise<Finished> {
    return runCommand(args, { directory: this.dataDir, env: this.#env });
  }

  /** Makes a tenant by the command line, whether the service runs or not. */
  async createTenant(name: string, model: OrderModel): Promise<TenantClient> {
    const made = await this.cli('tenant', 'create', name, '--order-model', model, '--json');
    if (made.code !== 0) throw new Error(`tenant create ${name}: ${made.stderr}`);
    return this.#know(createdTenant.parse(JSON.parse(made.stdout)), model);
  }

  /** The same before the first start, with a copy of what was made elsewhere. */
  async takeTenants(tenants: NonNullable<ServiceOptions['tenants']>): Promise<void> {
    const made = await withKeptTenants(this.dataDir, tenants, async (dataDir) => {
      const elsewhere = new Service(dataDir, {});
      const created: CreatedTenant[] = [];
      for (const [name, model] of Object.entries(tenants)) {
        const { admin, client } = await elsewhere.createTenant(name, model);
        created.push({ tenant: name, admin, client });
      }
      return created;
    });
    for (const created of made) this.#know(created, tenants[created.tenant] ?? 'dyn_stock_order');
  }

  #know(created: CreatedTenant, model: OrderModel): TenantClient {
    const tenant = new TenantClient(this, created, model);
    this.#tenants.set(created.tenant, tenant);
    return tenant;
  }

  /** A tenant made by this object. */
  tenant(name: string): TenantClient {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) throw new Error(`Tenant ${name} was not made here.`);
    return tenant;
  }

  /** A request as it is; the host is `localhost` unless a header says otherwise. */
  send(outgoing: Outgoing): Promise<Answer> {
    const headers = { host: `localhost:${this.#port}`, ...outgoing.headers };
    return send(this.#agent, this.#port, { ...outgoing, headers });
  }

  /**
   * Position of the last event in the embedded log, 0 when it is empty: it moves whenever anything is stored, but for sign-ins
   * and refusals. It is read from the file, as tests ask before and after each refusal, and the metric that says so takes ten times as long.
   */
  async logHead(): Promise<number> {
    const log = openSqlite(join(this.dataDir, 'events.db'), { readonly: true });
    try {
      const ofRest = `SELECT max(position) FROM events JOIN streams USING (stream_id) WHERE name NOT LIKE 'access-%'`;
      return Number(log.prepare(ofRest).pluck().get() ?? 0);
    } finally {
      log.close();
    }
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    const child = this.#process;
    if (child === undefined) return null;
    this.#process = undefined;
    if (child.exitCode !== null || child.signalCode !== null) return child.exitCode;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    return child.exitCode;
  }
}

function listeningPort(child: ChildProcess, log: () => string): Promise<number> {
  return new Promise((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`The service ${why}. It wrote:\n${output}${log()}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`did not listen within ${START_TIMEOUT_MS} ms`);
    }, START_TIMEOUT_MS);
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      const port = /^Listening on http:\/\/\S+?:(\d+)$/m.exec(output)?.[1];
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(Number(port));
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`ended (code ${code}, signal ${signal}) before it listened`);
    });
  });
}
