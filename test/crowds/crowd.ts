/** Requests that a client sends all at once, and what others notice of them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import type { Service } from '../acceptance/service.js';
import type { TenantClient } from '../acceptance/tenant.js';

export type CrowdRequest = {
  readonly method: string;
  readonly path: string;
  readonly headers: { readonly [name: string]: string };
  readonly body?: string | Buffer | undefined;
};

const waits = z.object({ count: z.number(), p50: z.number(), p99: z.number(), longest: z.number() });
const sent = z.object({ ms: z.number(), statuses: z.record(z.string(), z.number()) });
const bystanders = z.object({ health: waits, create: waits, list: waits });

type Noticed = z.output<typeof sent> &
  z.output<typeof bystanders> & {
    readonly memoryMb: number;
    /** Time after the last client had its answer, or had left, until no costly work was going on or waiting. */
    readonly endedAfterMs: number;
  };

/** The benchmark's programs: what it prints and what is asserted is measured in one way. */
const program = (name: string, ...args: readonly string[]) => {
  const path = resolve('bench/crowd', name);
  const child = spawn(process.execPath, [path, ...args], { stdio: ['pipe', 'pipe', 'inherit'] });
  return { child, output: Promise.all([text(child.stdout), once(child, 'exit')]).then(([said]) => JSON.parse(said)) };
};

/** @param leaveAfterMs the clients leave so long after they have asked */
export async function crowd(
  service: Service,
  other: TenantClient,
  requests: readonly CrowdRequest[],
  leaveAfterMs?: number,
): Promise<Noticed> {
  const directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-crowd-'));
  try {
    const file = join(directory, 'requests.json');
    const bodies = [...new Set(requests.flatMap(({ body }) => (body === undefined ? [] : [body])))];
    const sharing = requests.map(({ body, ...rest }) => ({
      ...rest,
      ...(body === undefined ? {} : { body: bodies.indexOf(body) }),
    }));
    const given = { port: service.port, bodies: bodies.map(inBase64), requests: sharing, leaveAfterMs };
    await writeFile(file, JSON.stringify(given));
    const looking = program('bystanders.js', String(service.port), other.host, `Bearer ${await other.token()}`);
    const memory = watchMemory(service.pid);
    await wait(200);
    const answers = sent.parse(await program('requests.js', file).output);
    const endedAfterMs = await untilNoWork(service);
    looking.child.stdin.end();
    const seen = bystanders.parse(await looking.output);
    return { ...answers, ...seen, memoryMb: await memory.end(), endedAfterMs };
  } finally {
    await rm(directory, { recursive: true });
  }
}

const inBase64 = (body: string | Buffer): string => Buffer.from(body).toString('base64');

async function untilNoWork(service: Service): Promise<number> {
  const began = performance.now();
  for (;;) {
    const { text: metrics } = await service.send({ method: 'GET', path: '/metrics' });
    const figures = [...metrics.matchAll(/^costly_work\{.*\} (\d+)$/gm)].map(([, count]) => Number(count));
    if (figures.length === 0) throw new Error('/metrics does not tell of costly work.');
    if (figures.every((count) => count === 0)) return performance.now() - began;
    await wait(20);
  }
}

/** The most memory that the process has had meanwhile. */
function watchMemory(pid: number): { end: () => Promise<number> } {
  let isOver = false;
  let mostMb = 0;
  const watching = (async () => {
    for (; !isOver; await wait(50)) {
      const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1];
      mostMb = Math.max(mostMb, Number(kilobytes) / 1_024);
    }
  })();
  return {
    async end() {
      isOver = true;
      await watching;
      return mostMb;
    },
  };
}
