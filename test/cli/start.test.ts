/** `npm start` makes something to look at where there is nothing; later starts, and those of production, do not. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ApiClient, at } from './apiClient.js';
import { REPOSITORY, type RunningCli, Workplace } from './cli.js';

const printed = (output: string, label: string): string =>
  new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(output)?.[1] ?? '';

function optionsOfNpmStart(): readonly string[] {
  const { scripts } = JSON.parse(readFileSync(join(REPOSITORY, 'package.json'), 'utf8'));
  const [, options = ''] = / start(.*)$/.exec(scripts.start) ?? [];
  return options.split(' ').filter((option) => option !== '');
}

let workplace: Workplace;
let service: RunningCli;
let api: ApiClient;

beforeAll(async () => {
  workplace = await Workplace.make();
  service = await workplace.start({}, ...optionsOfNpmStart());
  await service.printed('openapi.json');
  api = new ApiClient(service.origin, 'demo.localhost');
});
afterAll(async () => {
  api.close();
  await workplace.remove();
});

it('makes the tenant demo, with items and orders in several states, and prints where to go and the credentials', async () => {
  expect(service.output).toMatch(/^Listening on http:\/\/localhost:\d+$/m);
  await api.useClientCredentials({
    clientId: printed(service.output, 'client id'),
    clientSecret: printed(service.output, 'client secret'),
  });
  const TABLES = '/api/v1/dynamic-assets/dyn';
  expect(at(await api.request('GET', `${TABLES}/dyn_item/assets`), 'meta', 'total')).toBe(20);
  const orders = await api.request('GET', `${TABLES}/dyn_stock_order/assets?sort=created_at`);
  const states = [0, 1, 2].map((index) => at(orders, 'data', index, 'processing_status'));
  expect(states).toEqual(['validated', 'pending_validation', 'pending_validation']);
  await api.signIn(printed(service.output, 'admin e-mail'), printed(service.output, 'admin password'));
  expect(at(await api.request('GET', '/api/v1/platform/orders'), 'meta', 'total')).toBe(3);
});

it('says so when the port is taken', async () => {
  const environment = { PORT: new URL(service.address).port, DATA_DIR: 'other', LOG_LEVEL: 'fatal' };
  const { code, stderr } = await workplace.run(['start'], environment);
  expect(stderr).toContain('EADDRINUSE');
  expect(stderr).toContain('set PORT to another port');
  expect(code).toBe(1);
});

it('says so when MONGODB_URL cannot be used, and does not try to connect', async () => {
  const MONGODB_URL = 'mongodb://ops:secret@127.0.0.1:1/assets?maxStalenessSeconds=90';
  const { code, stderr } = await workplace.run(['start'], { MONGODB_URL, DATA_DIR: 'other', LOG_LEVEL: 'warn' });
  expect({ code, stderr }).toEqual({
    code: 1,
    stderr: 'MONGODB_URL is refused: Primary read preference cannot be combined with maxStalenessSeconds.\n',
  });
});

it('ends with 0 on SIGTERM, and a later start shows the address only, and has the records', async () => {
  expect(await service.stop()).toBe(0);
  const again = await workplace.start({}, '--demo');
  const items = new ApiClient(again.origin, 'demo.localhost');
  await items.signIn(printed(service.output, 'admin e-mail'), printed(service.output, 'admin password'));
  expect(at(await items.request('GET', '/api/v1/platform/tables/dyn_item/assets'), 'meta', 'total')).toBe(20);
  items.close();
  expect(await again.stop()).toBe(0);
  expect(again.output).toBe(`Listening on ${again.address}`);
});

it('start alone, as in production, makes no tenant, and says how to make one; --demo makes none beside others', async () => {
  const ofProduction = { DATA_DIR: 'production' };
  const alone = await workplace.start(ofProduction);
  await alone.printed('dynamic-assets tenant create');
  expect(alone.output).toBe(
    `Listening on ${alone.address}\nThere is no tenant yet. Make one with "dynamic-assets tenant create <name> --order-model dyn_stock_order".`,
  );
  expect(await workplace.json(['tenant', 'list'], ofProduction)).toEqual([]);
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order'], ofProduction);
  await alone.stop();
  const again = await workplace.start(ofProduction, '--demo');
  expect(await workplace.json(['tenant', 'list'], ofProduction)).toHaveLength(1);
  expect(again.output).toBe(`Listening on ${again.address}`);
});
