import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { ENTRY } from '../engines/commandLine.js';
import { ApiClient, at } from './apiClient.js';
import { REPOSITORY, type RunningCli, Workplace } from './cli.js';

const execute = promisify(execFile);

/** The lines from the token request to the list, as a reader would copy them. */
function printedCurlLines(output: string): string {
  const from = output.indexOf('TOKEN=$(');
  const to = output.indexOf('\n', output.indexOf('\ncurl ', from) + 1);
  return output.slice(from, to);
}

const printed = (output: string, label: string): string =>
  new RegExp(`^ +${label} +(\\S+)$`, 'm').exec(output)?.[1] ?? '';

async function optionsOfNpmStart(): Promise<readonly string[]> {
  const { scripts } = JSON.parse(await readFile(join(REPOSITORY, 'package.json'), 'utf8'));
  const [, options = ''] = / start(.*)$/.exec(scripts.start) ?? [];
  return options.split(' ').filter((option) => option !== '');
}

test('start alone, as in production, makes no tenant, and says how to make one', async () => {
  const workplace = await Workplace.make();
  const service = await workplace.start();
  await service.printed('dynamic-assets tenant create');
  expect(service.output).toBe(
    `Listening on ${service.address}\nThere is no tenant yet. Make one with "dynamic-assets tenant create <name> --order-model dyn_stock_order".`,
  );
  expect(await workplace.json(['tenant', 'list'])).toEqual([]);
  await workplace.json(['tenant', 'create', 'acme', '--order-model', 'dyn_stock_order']);
  await service.stop();
  const again = await workplace.start({}, '--demo');
  expect(await workplace.json(['tenant', 'list'])).toHaveLength(1);
  expect(await again.stop()).toBe(0);
  expect(again.output).toBe(`Listening on ${again.address}`);
  await workplace.remove();
});

describe('npm start on an empty data directory', () => {
  let workplace: Workplace;
  let service: RunningCli;

  beforeAll(async () => {
    workplace = await Workplace.make();
    service = await workplace.start({}, ...(await optionsOfNpmStart()));
    await service.printed('openapi.json');
  });
  afterAll(() => workplace.remove());

  it('makes the tenant demo and prints where to go and the credentials', async () => {
    expect(service.output).toContain(`Listening on ${service.address}\n`);
    expect(service.address).toMatch(/^http:\/\/localhost:\d+$/);
    for (const label of ['admin e-mail', 'admin password', 'client id', 'client secret']) {
      expect(printed(service.output, label)).not.toBe('');
    }
    const api = new ApiClient(service.origin, 'demo.localhost');
    await api.signIn(printed(service.output, 'admin e-mail'), printed(service.output, 'admin password'));
    const orders = await api.request('GET', '/api/v1/platform/orders');
    expect(at(orders, 'meta', 'total')).toBe(3);
    await api.close();
  });

  it.each([
    ['as pasted', (lines: string) => lines],
    ['with the name of the tenant as host', (lines: string) => lines.replaceAll('//localhost', '//demo.localhost')],
  ])('prints curl lines that work %s', async (_, edit) => {
    const { stdout, stderr } = await execute('bash', ['-c', edit(printedCurlLines(service.output))]);
    expect(stderr).toBe('');
    const answer: unknown = JSON.parse(stdout);
    expect(at(answer, 'meta', 'total')).toBe(20);
    expect(at(answer, 'data', 0, 'name')).toBe('Black tea, 100 bags');
  });

  it('has orders to look at in several states', async () => {
    const api = new ApiClient(service.origin, 'demo.localhost');
    await api.useClientCredentials({
      clientId: printed(service.output, 'client id'),
      clientSecret: printed(service.output, 'client secret'),
    });
    const orders = await api.request('GET', '/api/v1/dynamic-assets/dyn/dyn_stock_order/assets?sort=created_at');
    const states = [0, 1, 2].map((index) => at(orders, 'data', index, 'processing_status'));
    expect(states).toEqual(['validated', 'pending_validation', 'pending_validation']);
    await api.close();
  });

  it('says so when the port is taken', async () => {
    const environment = { PORT: new URL(service.address).port, DATA_DIR: 'other' };
    const { code, stderr } = await workplace.run(['start'], { ...environment, LOG_LEVEL: 'fatal' });
    expect(stderr).toContain('EADDRINUSE');
    expect(stderr).toContain('set PORT to another port');
    expect(code).toBe(1);
  });

  it('ends with 0 on SIGTERM, and a later start shows the address only', async () => {
    expect(await service.stop()).toBe(0);
    const again = await workplace.start({}, '--demo');
    expect(await again.stop()).toBe(0);
    expect(again.output).toBe(`Listening on ${again.address}`);
  });

  it('a bare host still means the tenant demo after that, unless DEFAULT_TENANT names another', async () => {
    const lines = printedCurlLines(service.output);
    const again = await workplace.start();
    const { stdout } = await execute('bash', ['-c', lines.replaceAll(service.address, again.address)]);
    expect(at(JSON.parse(stdout), 'meta', 'total')).toBe(20);
    await again.stop();
    const other = await workplace.start({ DEFAULT_TENANT: 'other' });
    const refused = await execute('bash', ['-c', lines.replaceAll(service.address, other.address)]);
    expect(at(JSON.parse(refused.stdout), 'meta')).toBeUndefined();
    await other.stop();
  });
});

test('the log is a JSON object a line, with the time in ISO 8601', async () => {
  const workplace = await Workplace.make();
  const env = { PATH: process.env.PATH ?? '', PORT: '0', LOG_LEVEL: 'info' };
  const child = spawn(process.execPath, [ENTRY, 'start'], { cwd: workplace.directory, env });
  const log = text(child.stderr);
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  const lines = (await log).trim().split('\n');
  expect(lines.join()).toContain('stopping');
  for (const line of lines) {
    const { time } = JSON.parse(line);
    expect(time).toBe(new Date(time).toISOString());
  }
  await workplace.remove();
});
