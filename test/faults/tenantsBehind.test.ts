/** While no projector runs, tenants that have written are behind: operators see their names, all others see their number. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { Service } from '../acceptance/service.js';

const METRICS_TOKEN = 'scrape-7d1e4c9a2b5f8036';
const BEHIND = '2 tenants are behind what was written, by up to ';

let api: Service;
let projector: Service;

beforeAll(async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const env = { METRICS_TOKEN, WRITE_WAIT_MS: '50' };
  api = new Service(dataDir, env, ['--role', 'api']);
  projector = new Service(dataDir, env, ['--role', 'projector']);
  for (const name of ['acme', 'other', 'quiet']) await api.createTenant(name, 'dyn_stock_order');
  await projector.start();
  await api.start();
});
afterAll(async () => {
  await projector.stop();
  await api.dispose();
});

const readiness = async (headers: { readonly [name: string]: string } = {}): Promise<string> =>
  (await api.send({ method: 'GET', path: '/health/ready', headers })).text;
it('nobody is behind, nobody is named', async () => {
  while ((await readiness()).includes('behind')) await wait(100);
  expect(await readiness()).not.toMatch(/acme|other|quiet/);
});

it('/health/ready counts them', async () => {
  await projector.stop();
  for (const name of ['acme', 'other']) await api.tenant(name).create('dyn_stock_order', { notes: 'not shown' });
  while (!(await readiness()).includes(BEHIND)) await wait(100);
  expect(await readiness()).not.toMatch(/acme|other|quiet/);
  expect(await readiness()).toMatch(/2 tenants are behind what was written, by up to \d+ seconds\./);
});

it('nobody is, as soon as somebody projects again', async () => {
  await projector.start();
  while ((await readiness()).includes('behind')) await wait(100);
});
