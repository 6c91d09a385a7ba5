/** Which processes may use one data directory at the same time, and that those which may find what the others answered. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Service } from '../acceptance/service.js';

let dataDir: string;
let running: Service[];
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  running = [];
});
afterEach(async () => {
  await Promise.all(running.map((service) => service.kill()));
  await rm(dataDir, { recursive: true, force: true });
});

function service(role?: string, env: { readonly [name: string]: string } = {}): Service {
  const made = new Service(dataDir, env, role === undefined ? [] : ['--role', role]);
  running.push(made);
  return made;
}

async function started(role?: string, env: { readonly [name: string]: string } = {}): Promise<Service> {
  const made = service(role, env);
  await made.start();
  return made;
}

/** What the process that came last says of itself. */
const last = async (): Promise<unknown> => JSON.parse(await readFile(join(dataDir, 'in-use', 'last.json'), 'utf8'));

/** "(process 4711 on erp-1, http://127.0.0.1:3000, since 2026-11-25T09:00:00.000Z)" */
const about = ({ pid, port }: Service): string =>
  `\\(process ${pid} on \\S+, http://127\\.0\\.0\\.1:${port}, since [\\d-]+T[\\d:.]+Z\\)`;

/** Resolves with what the start said instead of listening. */
async function refused(late: Service): Promise<string> {
  const error: unknown = await late.start().then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(String(error)).toContain('ended (code 1, signal null) before it listened');
  return late.log.trim().split('\n').at(-1) ?? '';
}

async function isServed({ port }: Service): Promise<void> {
  expect((await fetch(`http://127.0.0.1:${port}/health/ready`)).status).toBe(200);
}

describe('a service with all roles has its data directory for itself', () => {
  it('starts beside it end with a sentence that says who runs there and what to do; so do restore and migrate', async () => {
    const first = await started();
    const said = await Promise.all([undefined, 'api', 'projector,webhooks'].map((role) => refused(service(role))));
    const sentence = new RegExp(
      `^The data directory ${dataDir} is in use by a service with all roles ${about(first)}: stop it first, or set DATA_DIR to another directory\\.$`,
    );
    for (const each of said) expect(each).toMatch(sentence);
    await isServed(first);
    expect(await last()).toEqual({
      shown: expect.stringMatching(new RegExp(`^a service with all roles ${about(first)}$`)),
      address: `http://127.0.0.1:${first.port}`,
    });

    await first.cli('backup', 'backup');
    const beside = await Promise.all([
      first.cli('restore', 'backup', '--replace'),
      first.cli('migrate', '--from', dataDir, '--to', join(dataDir, 'copy')),
      first.cli('migrate', '--from', join(dataDir, 'backup'), '--to', dataDir),
      first.cli('doctor'),
    ]);
    expect(beside.map(({ code }) => code)).toEqual([1, 1, 1, 0]);
    const all = new RegExp(`a service with all roles ${about(first)}`);
    for (const { stdout, stderr } of beside) expect(stdout + stderr).toMatch(all);
    await isServed(first);
  });

  it('it does not start beside processes with some of the roles, and names one of them', async () => {
    const projector = await started('projector');
    expect(await refused(service())).toMatch(new RegExp(`by a service with the role projector ${about(projector)}`));
    const others = await started('api,webhooks');
    expect(await refused(service())).toMatch(new RegExp(`by a service with the roles api, webhooks ${about(others)}`));
    await isServed(others);
  });
});

it('of two processes that would write rows, the later one ends with a sentence that says why', async () => {
  await started('api,projector');
  expect(await refused(service('api,projector'))).toContain('only one process may have the role projector');
});
