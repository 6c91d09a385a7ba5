/** The first start makes something to look at; later ones begin where it ended. */
import { ApiClient, at } from './apiClient.js';
import { type RunningCli, Workplace } from './cli.js';

const printed = (output: string, label: string): string =>
  new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(output)?.[1] ?? '';

let workplace: Workplace;
let service: RunningCli;
let api: ApiClient;

beforeAll(async () => {
  workplace = await Workplace.make();
  service = await workplace.start();
  await service.printed('openapi.json');
  api = new ApiClient(service.origin, 'demo.localhost');
});
afterAll(async () => {
  await api.close();
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

it('ends with 0 on SIGTERM, and a later start shows the address only, and has the records', async () => {
  expect(await service.stop()).toBe(0);
  const again = await workplace.start();
  const items = new ApiClient(again.origin, 'demo.localhost');
  await items.signIn(printed(service.output, 'admin e-mail'), printed(service.output, 'admin password'));
  expect(at(await items.request('GET', '/api/v1/platform/tables/dyn_item/assets'), 'meta', 'total')).toBe(20);
  await items.close();
  expect(await again.stop()).toBe(0);
  expect(again.output).toBe(`Listening on ${again.address}`);
});
