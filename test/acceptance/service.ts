/**
 * Starts the real, built service as a process of its own on a fresh data directory, for tests through real HTTP.
 *
 *     const service = await startService({ tenants: { acme: 'dyn_stock_order' } });
 *     const acme = service.tenant('acme');
 *     await acme.create('dyn_item', { external_id: 'A1', name: 'Tea' });
 *     await service.dispose();
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomInt, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { readFileSync, statSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { entryFor, type Finished, runCommand } from '../engines/commandLine.js';
import { ownDatabase } from '../engines/mongodb.js';
import { ownQueues } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';
import { type Answer, type Outgoing, send } from './http.js';
import { TenantClient } from './tenant.js';

export type OrderModel = 'dyn_stock_order' | 'dyn_transport_order';

export type ServiceOptions = {
  /** Made before the start. */
  readonly tenants?: { readonly [name: string]: OrderModel };
  /** Settings beside the defaults below. */
  readonly env?: { readonly [name: string]: string };
};

export type RunningService = {
  readonly dataDir: string;
  readonly env: { readonly [name: string]: string };
  readonly port: number;
  /** What it writes to standard error. */
  readonly logFile: string;
};

export const START_TIMEOUT_MS = scaled(60_000);
const LEVEL_ERROR = 50;

export const createdTenant = z.object({
  tenant: z.string(),
  admin: z.object({ email: z.string(), password: z.string() }),
  client: z.object({ client_id: z.string(), client_secret: z.string(), scopes: z.array(z.string()) }),
});
export type CreatedTenant = z.output<typeof createdTenant>;

/** Makes the tenants, starts the service and resolves when it listens. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const { tenants = {}, env = {} } = options;
  const service = new Service(await mkdtemp(join(tmpdir(), 'dynamic-assets-')), env);
  for (const [name, model] of Object.entries(tenants)) await service.createTenant(name, model);
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
  /** Where its requests seem to come from, when it is shared. */
  readonly #network = Array.from({ length: 3 }, () => randomInt(256)).reduce((all, part) => `${all}.${part}`, '10');
  #shared: { readonly logFile: string; readonly logStart: number } | undefined;

  /** @param args of the command `start` */
  constructor(dataDir: string, env: { readonly [name: string]: string }, args: readonly string[] = []) {
    this.dataDir = dataDir;
    this.#args = args;
    this.#env = { PATH: process.env.PATH, ...settings(dataDir), ...env };
  }

  /** One that another file of tests may have started. It is not stopped here, and its log begins now. */
  static shared({ dataDir, env, port, logFile }: RunningService): Service {
    const service = new Service(dataDir, env);
    service.#port = port;
    service.#shared = { logFile, logStart: statSync(logFile).size };
    return service;
  }

  /** Another one after each start. */
  get port(): number {
    return this.#port;
  }

  /** Below which its tenants have their hosts. */
  get baseHost(): string {
    return (this.#env.BASE_HOST ?? '').toLowerCase().replace(/\.$/, '');
  }

  get pid(): number {
    const pid = this.#process?.pid;
    if (pid === undefined) throw new Error('The service does not run, or other files of tests share it.');
    return pid;
  }

  /** Everything it wrote to standard error, JSON lines; a shared one since this file began. */
  get log(): string {
    if (this.#shared === undefined) return this.#log;
    return readFileSync(this.#shared.logFile).subarray(this.#shared.logStart).toString('utf8');
  }

  /** Lines of the log of level error and above: what nobody foresaw. */
  get loggedErrors(): readonly string[] {
    return this.log.split('\n').filter((line) => {
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

  /** Stops it and removes its data. A shared one goes on. */
  async dispose(): Promise<void> {
    if (this.#shared === undefined) {
      await this.stop();
      await rm(this.dataDir, { recursive: true, force: true });
    }
    this.#agent.destroy();
  }

  /** Runs the command line on the same data directory, beside the service. */
  cli(...args: string[]): Promise<Finished> {
    return runCommand(args, { directory: this.dataDir, env: this.#env });
  }

  /**
   * Makes a tenant by the command line, whether the service runs or not.
   * @param name what `tenant(name)` calls it; in a shared service, its own name is another one each time
   */
  async createTenant(name: string, model: OrderModel): Promise<TenantClient> {
    const own = this.#shared === undefined ? name : `${name}-${randomUUID().slice(0, 8)}`;
    const made = await this.cli('tenant', 'create', own, '--order-model', model, '--json');
    if (made.code !== 0) throw new Error(`tenant create ${own}: ${made.stderr}`);
    const tenant = new TenantClient(this, createdTenant.parse(JSON.parse(made.stdout)), model);
    this.#tenants.set(name, tenant);
    return tenant;
  }

  /** A tenant made by this object. */
  tenant(name: string): TenantClient {
    const tenant = this.#tenants.get(name);
    if (tenant === undefined) throw new Error(`Tenant ${name} was not made here.`);
    return tenant;
  }

  readiness(): Promise<Answer> {
    return this.send({ method: 'GET', path: '/health/ready' });
  }

  async becomesReady(): Promise<void> {
    while ((await this.readiness()).status !== 200) await wait(25);
  }

  async metrics(): Promise<string> {
    return (await this.send({ method: 'GET', path: '/metrics' })).text;
  }

  /** A request as it is; the host is `localhost` unless a header says otherwise. */
  send(outgoing: Outgoing): Promise<Answer> {
    const address = outgoing.path === '/metrics' ? {} : this.#address;
    const headers = { host: `localhost:${this.#port}`, ...address, ...outgoing.headers };
    return send(this.#agent, this.#port, { ...outgoing, headers });
  }

  /**
   * Each file of tests comes from a network of its own, so that nobody else's wrong passwords are held against it. The metrics
   * are for programs of this machine.
   */
  get #address(): { readonly 'x-forwarded-for'?: string } {
    return this.#shared === undefined ? {} : { 'x-forwarded-for': this.#network };
  }

  /**
   * Position of the last event of the tenants in the embedded log, 0 when there is none: it moves whenever anything of theirs is
   * stored, but for sign-ins and refusals. It is read from the file, as tests ask before and after each refusal, and the metric
   * that says so takes ten times as long.
   */
  async logHead(): Promise<number> {
    const log = openSqlite(join(this.dataDir, 'events.db'), { readonly: true });
    const ofTenants = [...this.#tenants.values()].map(({ name }) => `name LIKE '%-${name}' OR name LIKE '%-${name}.%'`);
    const isOurs = this.#shared === undefined ? 'true' : ofTenants.join(' OR ');
    try {
      const streams = `SELECT stream_id FROM streams WHERE (${isOurs}) AND name NOT LIKE 'access-%'`;
      const others = `type_id NOT IN (SELECT type_id FROM event_types WHERE type = 'SignedIn')`;
      const last = `SELECT max(position) FROM events WHERE stream_id IN (${streams}) AND ${others}`;
      return Number(log.prepare(last).pluck().get() ?? 0);
    } finally {
      log.close();
    }
  }

  /** By another hand, in the embedded rows of acme. */
  changeRows(statement: string): void {
    const rows = openSqlite(join(this.dataDir, 'rows', 'acme.db'));
    rows.exec(statement);
    rows.close();
  }

  async #end(signal: NodeJS.Signals): Promise<number | null> {
    if (this.#shared !== undefined)
      throw new Error('Other files of tests share this service: ask for one of your own.');
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

/** Settings of a service on this directory, beside those that a test chooses. */
export const settings = (dataDir: string) => ({
  PORT: '0',
  HOST: '127.0.0.1',
  DATA_DIR: dataDir,
  BASE_HOST: 'localhost',
  LOG_LEVEL: 'warn',
  ...ownDatabase(),
  ...ownQueues(),
});

/** Tests of what a service does look at what it has written: an answer waits until that is shown, also where the machine is busy. */
export const PATIENT = { REQUEST_TIMEOUT_MS: String(scaled(60_000)), WRITE_WAIT_MS: '50000' };

const LISTENS = /^Listening on http:\/\/\S+?:(\d+)$/m;

/** @param output of a service. @returns its port as soon as it listens */
export function portIn(output: string): number | undefined {
  const port = LISTENS.exec(output)?.[1];
  return port === undefined ? undefined : Number(port);
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
      const port = portIn(output);
      if (port === undefined) return;
      clearTimeout(timer);
      resolve(port);
    });
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`ended (code ${code}, signal ${signal}) before it listened`);
    });
  });
}
