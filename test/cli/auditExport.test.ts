/** The export of an order for a dispute, as an auditor and a third party use it. */
import { spawnSync } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { ApiClient, textAt } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const created = z.object({
  admin: z.object({ email: z.string(), password: z.string() }),
  client: z.object({ client_id: z.string(), client_secret: z.string() }),
});
const withId = z.object({ data: z.object({ id: z.string() }) });

/** What a client may write that an archive must not take for a path. */
const HOSTILE = `<script>alert(1)</script>"'&<img src=x onerror=alert(2)>\u202e\u001b[31m../../etc/passwd`;

let workplace: Workplace;
let service: RunningCli;
let api: ApiClient;
let people: ApiClient;
let token: string;
let order: string;

const inWorkplace = (...path: string[]): string => join(workplace.directory, ...path);
const TABLES = '/api/v1/dynamic-assets/dyn';

beforeAll(async () => {
  workplace = await Workplace.make();
  const made = created.parse(await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']));
  service = await workplace.start();
  [api, people] = [new ApiClient(service.origin, 'acme.localhost'), new ApiClient(service.origin, 'acme.localhost')];
  await api.useClientCredentials({ clientId: made.client.client_id, clientSecret: made.client.client_secret });
  const { email, password } = made.admin;
  await people.signIn(email, password);
  token = textAt(await people.request('POST', '/api/v1/platform/session', { email, password }), 'data', 'token');
  const body = {
    customer_reference: HOSTILE,
    buyer_customer_party_id: 'X',
    lines: [{ quantity: 2 }, { quantity: -1 }],
  };
  order = withId.parse(await api.request('POST', `${TABLES}/dyn_stock_order/assets`, body)).data.id;
  const reported = { processing_status: 'submit_failed', error_reason: [HOSTILE] };
  await api.request('PUT', `${TABLES}/dyn_stock_order/assets/${order}`, reported);
});
afterAll(async () => {
  api?.close();
  people?.close();
  await workplace.remove();
});

/** The export over the API, behind a checkpoint that covers all events. @returns the file */
async function exported(name: string): Promise<string> {
  await workplace.json(['audit', 'checkpoint']);
  const url = `${service.origin}/api/v1/platform/orders/${order}/export`;
  const headers = { 'x-tenant': 'acme', authorization: `Bearer ${token}` };
  let answer = await fetch(url, { headers });
  // The service begins with the tree a few seconds after its start.
  for (; answer.status === 503; answer = await fetch(url, { headers })) await wait(200);
  expect(answer.status).toBe(200);
  expect(answer.headers.get('content-type')).toBe('application/zip');
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="order-${order}.zip"`);
  await writeFile(inWorkplace(name), Buffer.from(await answer.arrayBuffer()));
  return name;
}

/** Takes the archive out, as a third party does. */
async function unpacked(archive: string, directory: string): Promise<string> {
  const { status, stderr } = spawnSync('python3', ['-m', 'zipfile', '-e', archive, directory], {
    cwd: workplace.directory,
    encoding: 'utf8',
  });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return inWorkplace(directory);
}

/** The commands of HOW-TO-CHECK.md. */
async function howToCheck(directory: string): Promise<string> {
  const page = await readFile(join(directory, 'HOW-TO-CHECK.md'), 'utf8');
  return /^```sh\n(.*?)^```$/ms.exec(page)?.[1] ?? '';
}

const run = (directory: string, commands: string) =>
  spawnSync('sh', ['-c', commands], { cwd: directory, encoding: 'utf8' });

describe('an export', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await unpacked(await exported('order.zip'), 'order');
  });

  it('is checked as HOW-TO-CHECK.md says, and a changed byte is refused', async () => {
    const commands = await howToCheck(directory);
    const good = run(directory, commands);
    expect(good).toMatchObject({ status: 0, stderr: '' });
    expect(good.stdout).toBe('All events with a proof are in the log that the key has signed.\n');

    const name = 'order-000001.json';
    for (const file of [join(directory, 'events', name), join(directory, 'proofs', name)]) {
      const text = await readFile(file, 'utf8');
      await writeFile(file, text.replace('submit_failed', 'submit_faileD'));
      const bad = run(directory, commands);
      expect(bad.stdout).toContain(`WRONG proofs/${name}\n`);
      expect(bad.stdout).not.toContain('All events');
      await writeFile(file, text);
    }
  });

  it('has the replay of the order', async () => {
    const json = z.object({ order_id: z.string(), data: z.array(z.looseObject({ event: z.string() })) });
    const replay = json.parse(JSON.parse(await readFile(join(directory, 'replay.json'), 'utf8')));
    expect(replay.order_id).toBe(order);
    expect(replay.data.map(({ event }) => event)).toEqual(['OrderCreatedWithParts', 'OrderStatusChanged']);
  });

  it('is an entry of the activity', async () => {
    const path = `/api/v1/platform/activity?kind=order.exported&order_id=${order}`;
    const { data } = z.object({ data: z.array(z.looseObject({})) }).parse(await people.request('GET', path));
    expect(data).toHaveLength(1);
    expect(data[0]).toMatchObject({ kind: 'order.exported', actor: { kind: 'user' }, order_id: order });
  });

  it('is without what was erased, and says so: these events have no proof', async () => {
    const erase = [
      'erase',
      '--tenant',
      'acme',
      '--table',
      'dyn_stock_order',
      '--record',
      order,
      '--reason',
      'Asked for.',
    ];
    await workplace.json([...erase, '--fields', 'customer_reference']);
    const erased = await unpacked(await exported('erased.zip'), 'erased');
    expect((await readdir(join(erased, 'proofs'))).sort()).toEqual(['order-000001.json', 'order-000002.json']);
    expect(await readFile(join(erased, 'events', 'order-000000.json'), 'utf8')).not.toContain('<img');
    expect(await readFile(join(erased, 'HOW-TO-CHECK.md'), 'utf8')).toMatch(/- order-000000: values of it were erased/);
    expect(run(erased, await howToCheck(erased)).stdout).toMatch(/^All events with a proof/);
  });
});
