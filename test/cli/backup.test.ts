/** A backup made beside a running service, and put back: nothing is lost, and nothing is overwritten unasked. */
import { existsSync, readdirSync, statSync } from 'node:fs';
import { copyFile, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { EventStoreDouble } from '../engines/eventStoreDouble.js';
import { ApiClient, at } from './apiClient.js';
import { type Environment, type RunningCli, Workplace } from './cli.js';

const ITEMS = '/api/v1/dynamic-assets/dyn/dyn_item/assets';
const NETWORKS = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' };

let workplace: Workplace;
/** Where acme has been made. */
let ofAcme: Workplace;
let client: Client;
beforeAll(async () => {
  ofAcme = await Workplace.make();
  client = await createAcme(ofAcme);
});
afterAll(() => ofAcme.remove());
beforeEach(async () => {
  workplace = await ofAcme.copy();
});
afterEach(() => workplace.remove());

const within = (...path: string[]): string => join(workplace.directory, ...path);
const createAcme = async (where: Workplace, more: Environment = {}) => {
  const made = await where.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], more);
  const webhook = ['webhook', 'create', '--tenant', 'acme', '--url', 'https://127.0.0.1/hook'];
  await where.json(webhook, { ...NETWORKS, ...more });
  return z.object({ client: z.object({ client_id: z.string(), client_secret: z.string() }) }).parse(made).client;
};
type Client = Awaited<ReturnType<typeof createAcme>>;

async function withApi<T>(service: RunningCli, client: Client, use: (api: ApiClient) => Promise<T>): Promise<T> {
  const api = new ApiClient(service.origin, 'acme.localhost');
  try {
    await api.useClientCredentials({ clientId: client.client_id, clientSecret: client.client_secret });
    return await use(api);
  } finally {
    api.close();
  }
}

const create = (api: ApiClient, n: number) => api.request('POST', ITEMS, { external_id: `A${n}`, name: `Tea ${n}` });
const total = async (service: RunningCli, client: Client) =>
  withApi(service, client, async (api) => at(await api.request('GET', ITEMS), 'meta', 'total'));

const proof = {
  streams: expect.any(Number),
  appends: expect.any(Number),
  events: expect.any(Number),
  sha256: expect.stringMatching(/^[0-9a-f]{64}$/),
};

/** The data directory with three records, backed up as `first`. */
async function backedUp(): Promise<void> {
  const service = await workplace.start();
  await withApi(service, client, async (api) => {
    for (const n of [1, 2, 3]) await create(api, n);
  });
  await workplace.json(['backup', 'first']);
  await service.stop();
}

test('made while records are written, each into a directory of its own; put back, it holds what was there at its moment', async () => {
  const service = await workplace.start();
  let written = 0;
  let isOver = false;
  const writing = withApi(service, client, async (api) => {
    while (!isOver) await create(api, ++written);
  });
  while (written < 5) await new Promise((resolve) => setTimeout(resolve, 10));
  const before = written - 1;
  const made = z.object({ files: z.array(z.string()) }).parse(await workplace.json(['backup', 'one']));
  const after = written;
  expect(made.files).toEqual(expect.arrayContaining(['events.db', 'keys/secrets.key', 'log-id', 'backup.json']));
  expect(await workplace.json(['backup', 'two'])).toMatchObject({ log: proof });
  isOver = true;
  await writing;
  await service.stop();
  for (const name of readdirSync(within('one'))) expect(statSync(within('one', name)).mode & 0o077).toBe(0);
  expect(readdirSync(within('one')).sort()).toEqual(['backup.json', 'events.db', 'keys', 'log-id']);

  const restored = await workplace.json(['restore', 'one'], { DATA_DIR: 'elsewhere' });
  expect(restored).toEqual({ data_dir: within('elsewhere'), log: proof, replaced: null });
  const described = JSON.parse(await readFile(within('one', 'backup.json'), 'utf8'));
  expect(described).toMatchObject({ format: 1, log: at(restored, 'log') });
  const elsewhere = await workplace.start({ DATA_DIR: 'elsewhere' });
  const found = Number(await total(elsewhere, client));
  expect(found).toBeGreaterThanOrEqual(before);
  expect(found).toBeLessThanOrEqual(after);
});

test('in place of what is there it is put only when told, and while nobody uses it; what was there is kept', async () => {
  await backedUp();
  const service = await workplace.start();
  await withApi(service, client, (api) => create(api, 4));
  expect(await workplace.run(['restore', 'first'])).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/data is not empty: it holds .*events\.db.*--replace/),
  });
  expect(await workplace.run(['restore', 'first', '--replace'])).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/\.db is in use\. Stop the service first\.\n$/),
  });
  expect(await total(service, client)).toBe(4);
  await service.stop();

  const { replaced } = z
    .object({ replaced: z.string() })
    .parse(await workplace.json(['restore', 'first', '--replace']));
  expect(readdirSync(replaced)).toEqual(expect.arrayContaining(['events.db', 'keys', 'log-id', 'readmodels.db']));
  const again = await workplace.start();
  expect(await total(again, client)).toBe(3);
  // The keys are those of the log: the secret opens.
  const listed = await workplace.json(['webhook', 'list', '--tenant', 'acme']);
  expect(listed).toHaveLength(1);
  expect(await workplace.json(['webhook', 'reseal'])).toMatchObject({ unopenable: [] });
});

test('a backup whose log was changed is refused, and nothing is touched', async () => {
  await backedUp();
  const db = openSqlite(within('first', 'events.db'));
  db.prepare("UPDATE events SET data = replace(data, 'Tea 2', 'Tea 9')").run();
  db.close();
  const before = readdirSync(within('data')).sort();
  const { code, stderr } = await workplace.run(['restore', 'first', '--replace']);
  expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining('is not what was backed up') });
  expect(readdirSync(within('data')).sort()).toEqual(before);
});

test('a backup of an earlier release, and a copy made by hand with its write-ahead log, are put back as well', async () => {
  const service = await workplace.start();
  await withApi(service, client, (api) => create(api, 1));
  await mkdir(within('by-hand', 'keys'), { recursive: true });
  for (const name of ['events.db', 'events.db-wal', 'keys/secrets.key'])
    await copyFile(within('data', name), within('by-hand', name));
  await service.stop();
  await workplace.json(['restore', 'by-hand'], { DATA_DIR: 'elsewhere' });
  expect(await readFile(within('elsewhere', 'log-id'), 'utf8')).toBe(await readFile(within('data', 'log-id'), 'utf8'));
  expect(await total(await workplace.start({ DATA_DIR: 'elsewhere' }), client)).toBe(1);
});

test('what a backup that was killed left behind is replaced; a whole one is not', async () => {
  await mkdir(within('first', 'draft.part', 'keys'), { recursive: true });
  await writeFile(within('first', 'draft.part', 'events.db'), 'half');
  expect(await workplace.json(['backup', 'first'])).toMatchObject({ log: proof });
  expect(existsSync(within('first', 'draft.part'))).toBe(false);
  expect(await workplace.run(['backup', 'first'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('holds events.db already; name another directory.'),
  });
});

test('with EVENTSTORE_URL: keys and the id of the log; what fits no such installation is refused', async () => {
  const double = await EventStoreDouble.start();
  try {
    const environment = { EVENTSTORE_URL: double.url, DATA_DIR: 'beside' };
    await createAcme(workplace, environment);
    const { code, stdout } = await workplace.run(['backup', 'keys-only'], environment);
    expect(code).toBe(0);
    expect(stdout).toContain('The event log is on its own server');
    expect(readdirSync(within('keys-only')).sort()).toEqual(['backup.json', 'keys', 'log-id']);
    await workplace.json(['restore', 'keys-only'], { ...environment, DATA_DIR: 'new' });
    expect(await workplace.json(['webhook', 'reseal'], { ...environment, DATA_DIR: 'new' })).toMatchObject({
      current: 1,
      unopenable: [],
    });
    expect(await workplace.run(['restore', 'keys-only'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('holds keys only'),
    });
    await workplace.json(['backup', 'embedded']);
    expect(await workplace.run(['restore', 'embedded'], { ...environment, DATA_DIR: 'other' })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('"dynamic-assets migrate" it'),
    });
    expect(await workplace.run(['restore', 'nothing'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('no backup'),
    });
  } finally {
    await double.dispose();
  }
});
