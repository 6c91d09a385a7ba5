/** Work that one client asks for all at once, while others look on. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { Service } from '../../acceptance/service.js';
import type { TenantClient } from '../../acceptance/tenant.js';

export type Costly = {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: { readonly [name: string]: string };
};

export type Waits = {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly longest: number;
  readonly refused: { readonly [status: string]: number };
};

export type Seen = {
  readonly ms: number;
  readonly statuses: { readonly [status: string]: number };
  readonly health: Waits;
  readonly create: Waits;
  readonly list: Waits;
  /** Most memory of the service meanwhile, and right after, in MB. */
  readonly memory: number;
};

const program = (name: string): string => join(__dirname, `${name}.mjs`);

/** Runs a program. @returns its output, and how to end it */
function started(name: string, ...args: readonly string[]) {
  const child = spawn(process.execPath, [program(name), ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { said: text(child.stdout), end: () => child.stdin.end(), ended: once(child, 'exit') };
}

export async function atOnce(
  service: Service,
  { bystander, token, host }: { readonly bystander: TenantClient; readonly token: string; readonly host: string },
  requests: readonly Costly[],
  leaveAfterMs?: number,
): Promise<Seen> {
  const folder = await mkdtemp(join(tmpdir(), 'crowd-'));
  const file = join(folder, 'requests.json');
  const headers = { host, authorization: `Bearer ${token}`, 'accept-encoding': 'identity' };
  const whole = requests.map(({ method, path, body, headers: more }) => ({
    method,
    path,
    headers: { ...headers, ...more },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  }));
  await writeFile(file, JSON.stringify({ port: service.port, requests: whole, leaveAfterMs }));
  const looking = started('bystanders', String(service.port), bystander.host, await bystander.token());
  await new Promise((resolve) => setTimeout(resolve, 300));
  let memory = 0;
  const watching = setInterval(async () => {
    const status = await readFile(`/proc/${service.pid}/status`, 'utf8').catch(() => '');
    memory = Math.max(memory, Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024));
  }, 50);
  try {
    const crowd = started('crowd', file);
    const { ms, statuses } = JSON.parse(await crowd.said);
    looking.end();
    return { ms, statuses, ...JSON.parse(await looking.said), memory };
  } finally {
    clearInterval(watching);
    await rm(folder, { recursive: true, force: true });
  }
}
