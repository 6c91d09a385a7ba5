/** The service as a process of its own on a fresh directory, and a plain client for it. */
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { endWithThis } from './interruption.js';

const CLI = fileURLToPath(new URL('../dist/bundle/index.js', import.meta.url));

/** Where people and their tools call. */
export const PLATFORM = '/api/v1/platform';

/** In which Linux counts the time of processes. */
const TICK_MS = 10;

export const environment = (directory, settings) => ({
  ...process.env,
  ...settings,
  DATA_DIR: directory,
  PORT: '0',
  HOST: '127.0.0.1',
  BASE_HOST: 'localhost',
  LOG_LEVEL: 'warn',
  // One client asks as fast as it can; the limit is looked at all the same.
  RATE_LIMIT_PER_SECOND: '1000000',
});

/** A call of the command line, which answers JSON. */
export async function callCli(directory, settings, ...args) {
  const env = environment(directory, settings);
  return JSON.parse((await promisify(execFile)(process.execPath, [CLI, ...args, '--json'], { env })).stdout);
}

/** @returns the process, which listens, and its port */
export async function spawnService(directory, settings) {
  const env = environment(directory, settings);
  const child = spawn(process.execPath, [CLI, 'start'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  endWithThis(child);
  child.stdout.setEncoding('utf8');
  let output = '';
  while (!/Listening on \S+:(\d+)/.test(output)) output += (await once(child.stdout, 'data'))[0];
  return { child, port: Number(/Listening on \S+?:(\d+)/.exec(output)[1]) };
}

export async function stopService(child) {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/**
 * @param settings environment of the service beside the usual
 * @param tenant where its log may have one of the usual name
 */
export async function startService(directory, settings = {}, tenant = 'bench') {
  const cli = (...args) => callCli(directory, settings, ...args);
  const credentials = await cli('tenant', 'create', tenant, '--order-model', 'dyn_transport_order');
  const { child, port } = await spawnService(directory, settings);
  const client = await signInClient(port, tenant, credentials);
  // What is measured deletes most of a table, without a question.
  const admin = await signIn({ port, credentials, tenant });
  await admin.ok('PUT', `${PLATFORM}/tenant`, { clean_up_guard: null });
  admin.close();
  return {
    credentials,
    tenant,
    port,
    pid: child.pid,
    client,
    cli,
    /** Resident memory in MB; as the system counts it. */
    async residentMb() {
      return Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
    },
    /** Processor time so far, in milliseconds: it says more than a rate where others use the machine as well. */
    async processorMs() {
      const [user, system] = (await readFile(`/proc/${child.pid}/stat`, 'utf8')).split(' ').slice(13, 15);
      return (Number(user) + Number(system)) * TICK_MS;
    },
    /** One figure of /metrics. */
    async metric(name) {
      const { text } = await client.send('GET', '/metrics');
      return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
    },
    async stop() {
      client.close();
      await stopService(child);
    },
  };
}

/** A client with a token of the tenant's first API client. */
export async function signInClient(port, tenant, credentials) {
  const client = createClient(port, `${tenant}.localhost`);
  const { access_token: token } = JSON.parse(
    await client.ok('POST', '/oauth/token', {
      grant_type: 'client_credentials',
      client_id: credentials.client.client_id,
      client_secret: credentials.client.client_secret,
    }),
  );
  client.headers.authorization = `Bearer ${token}`;
  return client;
}

/** A client with the session of the tenant's first admin. */
export async function signIn({ port, credentials, tenant }) {
  const person = createClient(port, `${tenant}.localhost`);
  const { email, password } = credentials.admin;
  const { data } = JSON.parse(await person.ok('POST', `${PLATFORM}/session`, { email, password }));
  person.headers.authorization = `Bearer ${data.token}`;
  return person;
}

export function createClient(port, host) {
  // Closed here before a server closes it (Node does after 5 s): a request that meets its end half-way would fail.
  const agent = new Agent({ keepAlive: true, timeout: 2_000 });
  const headers = { host };
  return {
    headers,
    close: () => agent.destroy(),
    /** Resolves with the whole answer, of whatever status. */
    send(method, path, body) {
      const raw = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body);
      return new Promise((resolve, reject) => {
        const outgoing = request(
          {
            agent,
            host: '127.0.0.1',
            port,
            method,
            path,
            headers:
              raw === undefined
                ? headers
                : { ...headers, 'content-type': 'application/json', 'content-length': Buffer.byteLength(raw) },
          },
          (incoming) => {
            const chunks = [];
            incoming.on('data', (chunk) => chunks.push(chunk));
            incoming.on('end', () => {
              const { statusCode: status, headers } = incoming;
              resolve({ status, headers, text: Buffer.concat(chunks).toString() });
            });
            incoming.on('error', reject);
          },
        );
        outgoing.on('error', reject);
        outgoing.end(raw);
      });
    },
    /** The same, but anything else than success is an error. */
    async ok(method, path, body) {
      const answer = await this.send(method, path, body);
      if (answer.status > 299) throw new Error(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`);
      return answer.text;
    },
  };
}
