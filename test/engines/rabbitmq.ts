/** A real RabbitMQ for tests: the one RABBITMQ_URL names, else a server on PATH, started on a fresh directory, once a run. */
import { type ChildProcess, type StdioOptions, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { freePort } from './freePort.js';
import { onPath } from './onPath.js';
import { ServerProcess } from './serverProcess.js';
import { type Server, sharedServer } from './sharedServer.js';
import { scaled } from './timeScale.js';

/** Debian's command on PATH changes to another user and refuses all but root; this one behind it does neither. */
const DEBIAN_SERVER = '/usr/lib/rabbitmq/bin/rabbitmq-server';
const START_TIMEOUT_MS = scaled(60_000);

const serverCommand = (): string | undefined => {
  const found = onPath('rabbitmq-server');
  return found !== undefined && existsSync(DEBIAN_SERVER) ? DEBIAN_SERVER : found;
};

/** Why there is no RabbitMQ; undefined when there is one. */
export const rabbitMqMissing = (): string | undefined =>
  process.env.RABBITMQ_URL === undefined && serverCommand() === undefined
    ? 'RABBITMQ_URL is unset and no rabbitmq-server is on PATH'
    : undefined;

/** Why there is no RabbitMQ that a test may stop; undefined when there is one. */
export const rabbitMqServerMissing = (): string | undefined =>
  serverCommand() === undefined ? 'no rabbitmq-server is on PATH' : undefined;

/** The server that RABBITMQ_URL names, else one that the suites of a run share. */
export async function anyRabbitMq(): Promise<AnyRabbitMq> {
  const url =
    process.env.RABBITMQ_URL ??
    (await sharedServer('rabbitmq', async () => (await RabbitMqServer.start()).outliveThisProcess()));
  return { url, freshUrl: () => withOwnQueues(url) };
}

export type AnyRabbitMq = {
  /** Shared: for queues whose names nobody else has. */
  readonly url: string;
  /** The same server with queues that nobody has used. */
  freshUrl(): string;
};

/** Lets a service use the server that RABBITMQ_URL names, apart from all others that do. */
export function ownQueues(): { readonly RABBITMQ_URL?: string } {
  const url = process.env.RABBITMQ_URL;
  return url === undefined ? {} : { RABBITMQ_URL: withOwnQueues(url) };
}

function withOwnQueues(server: string): string {
  const url = new URL(server);
  url.searchParams.set('queue_prefix', `test-${randomUUID()}.`);
  return url.href;
}

/** A server of the test's own, which it may stop, kill and start again on the same data. */
export class RabbitMqServer extends ServerProcess {
  readonly url: string;
  readonly port: number;
  readonly #directory: string;
  readonly #environment: NodeJS.ProcessEnv;
  readonly #epmd: ChildProcess;

  private constructor(directory: string, port: number, environment: NodeJS.ProcessEnv, epmd: ChildProcess) {
    super();
    this.url = `amqp://guest:guest@127.0.0.1:${port}`;
    this.port = port;
    this.#directory = directory;
    this.#environment = environment;
    this.#epmd = epmd;
  }

  /** Resolves when it takes messages. @throws Error with what it wrote, when it does not come up */
  static async start(): Promise<RabbitMqServer> {
    const directory = await mkdtemp(join(tmpdir(), 'rabbitmq-'));
    const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()];
    const environment = environmentOf(directory, distPort, epmdPort);
    await mkdir(join(directory, 'empty'));
    await writeFile(join(directory, 'enabled_plugins'), '[].\n');
    await writeFile(join(directory, 'rabbitmq.conf'), configuration(port));
    await writeFile(join(directory, 'advanced.config'), ADVANCED_CONFIGURATION);
    // Erlang's name server would otherwise be started by the node, outlive it and listen on all addresses.
    const epmd = spawn('epmd', ['-port', String(epmdPort), '-address', '127.0.0.1'], { stdio: 'ignore' });
    await once(epmd, 'spawn');
    const server = new RabbitMqServer(directory, port, environment, epmd);
    await server.start();
    return server;
  }

  /** After `stop` or `kill`: starts it again on its data. */
  async start(): Promise<void> {
    // Into a file: a pipe would end with this process, which the server may outlive.
    const file = join(this.#directory, 'output');
    const output = await open(file, 'w');
    const stdio: StdioOptions = ['ignore', output.fd, output.fd];
    const child = spawn(serverCommand() ?? 'rabbitmq-server', [], { env: this.#environment, stdio });
    this.server = child;
    await output.close();
    const deadline = Date.now() + START_TIMEOUT_MS;
    for (let isReady = false; !isReady; ) {
      const text = await readFile(file, 'utf8');
      const ended = child.exitCode !== null || child.signalCode !== null;
      if (ended || Date.now() > deadline) throw new Error(`RabbitMQ did not start. It wrote:\n${text}`);
      await wait(50);
      isReady = /completed with \d+ plugins/.test(text) && (await takesMessages(this.url));
    }
  }

  /** Lets this process end without it. @returns what `endRun.cjs` ends */
  async outliveThisProcess(): Promise<Server> {
    this.server?.unref();
    this.#epmd.unref();
    const pids = [await this.pid(), Number(this.#epmd.pid)];
    return { url: this.url, pids, directory: this.#directory };
  }

  /** Runs a command of rabbitmqctl. @throws Error with what it wrote */
  async control(...args: string[]): Promise<void> {
    const child = spawn(serverCommand()?.replace(/rabbitmq-server$/, 'rabbitmqctl') ?? 'rabbitmqctl', args, {
      env: this.#environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    }
    const [code] = await once(child, 'close');
    if (code !== 0) throw new Error(`rabbitmqctl ${args.join(' ')}: ${output}`);
  }

  /** Ends it and its name server, and removes its data. */
  async dispose(): Promise<void> {
    await this.stop();
    const ended = once(this.#epmd, 'exit');
    this.#epmd.kill('SIGTERM');
    await ended;
    await rm(this.#directory, { recursive: true, force: true });
  }

  /** The process id of the Erlang machine; the command is a shell around it. */
  protected async pid(): Promise<number> {
    return Number(await readFile(join(this.#directory, 'pid'), 'utf8'));
  }
}

const environmentOf = (directory: string, distPort: number, epmdPort: number): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  // The cookie is made here.
  HOME: directory,
  RABBITMQ_NODENAME: 'test@localhost',
  RABBITMQ_BASE: directory,
  RABBITMQ_MNESIA_BASE: join(directory, 'mnesia'),
  RABBITMQ_LOG_BASE: join(directory, 'log'),
  RABBITMQ_PID_FILE: join(directory, 'pid'),
  RABBITMQ_CONFIG_FILE: join(directory, 'rabbitmq.conf'),
  RABBITMQ_ADVANCED_CONFIG_FILE: join(directory, 'advanced.config'),
  RABBITMQ_CONFIG_FILES: join(directory, 'empty'),
  RABBITMQ_CONF_ENV_FILE: join(directory, 'env.conf'),
  RABBITMQ_GENERATED_CONFIG_DIR: join(directory, 'config'),
  RABBITMQ_ENABLED_PLUGINS_FILE: join(directory, 'enabled_plugins'),
  RABBITMQ_DIST_PORT: String(distPort),
  // No busy waiting: the machine is shared with the tests.
  RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS:
    '-kernel inet_dist_use_interface {127,0,0,1} +sbwt none +sbwtdcpu none +sbwtdio none',
  ERL_EPMD_PORT: String(epmdPort),
  ERL_EPMD_ADDRESS: '127.0.0.1',
});

const configuration = (port: number): string =>
  [
    `listeners.tcp.local = 127.0.0.1:${port}`,
    'log.file.level = warning',
    'disk_free_limit.absolute = 50MB',
    'vm_memory_high_watermark.relative = 0.8',
    '',
  ].join('\n');

/**
 * A message that leaves a delay while the server goes down is passed on again when nobody has confirmed it for three
 * minutes, by default: longer than tests wait.
 */
const ADVANCED_CONFIGURATION = '[{rabbit, [{dead_letter_worker_publisher_confirm_timeout, 5000}]}].\n';

/** The first queue of a fresh server may take it longer than a service waits for a confirm: it is over before a test begins. */
async function takesMessages(url: string): Promise<boolean> {
  const { connect } = await import('amqplib');
  try {
    const connection = await connect(url);
    // Each failure is thrown as well.
    connection.on('error', () => undefined);
    try {
      const channel = await connection.createConfirmChannel();
      channel.on('error', () => undefined);
      const queue = `ready-${randomUUID()}`;
      // As the adapter's are.
      await channel.assertQueue(queue, { durable: true, arguments: { 'x-queue-type': 'quorum' } });
      channel.sendToQueue(queue, Buffer.from('ready'), { persistent: true });
      await channel.waitForConfirms();
      await channel.deleteQueue(queue);
      return true;
    } finally {
      await connection.close();
    }
  } catch {
    // Not yet; the caller asks again.
    return false;
  }
}
