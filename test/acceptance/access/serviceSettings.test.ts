/** What the operator sets for the whole service: who may scrape it, and what bounds it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type ClientRequest, type IncomingMessage, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MAX_REQUESTS_IN_FLIGHT, MAX_WAITING_OF_TENANT } from '#app/domain/limits.js';
import { addWebhook, approvedOrder, quickDelivery } from '../export.js';
import { Receiver } from '../receiver.js';
import { expectInvalid } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const METRICS_TOKEN = 'scrape-3f9c1b7e5a2d4c68';
const receiver = Receiver.ofTests();
const { acme, service, tenant } = useService({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: { METRICS_TOKEN, ...quickDelivery(receiver), WEBHOOK_CONCURRENCY: '2', WEBHOOK_ALLOWED_PORTS: '9443' },
});
const ITEMS = `${ASSETS}/dyn_item/assets`;

describe('METRICS_TOKEN', () => {
  const scrape = async (token = METRICS_TOKEN, headers = {}) =>
    service().send({ method: 'GET', path: '/metrics', headers: { authorization: `Bearer ${token}`, ...headers } });
  const figures = async (): Promise<ReadonlyMap<string, number>> =>
    new Map(
      [...(await scrape()).text.matchAll(/^(\w+(?:\{.*\})?) (\S+)$/gm)].map(([, series = '', value]) => [
        series,
        Number(value),
      ]),
    );

  it('lets those who send it scrape from anywhere, and nobody else; no command shows it', async () => {
    for (const host of ['evil.example', 'localhost'])
      expect((await scrape(METRICS_TOKEN, { 'x-forwarded-for': '192.0.2.1', host })).status).toBe(200);
    for (const token of ['', `${METRICS_TOKEN}x`, METRICS_TOKEN.slice(0, -1), await acme().token()])
      expect(await scrape(token)).toMatchObject({
        status: 401,
        headers: { 'www-authenticate': 'Bearer realm="metrics"' },
      });
    const { stdout, stderr } = await service().cli('config');
    expect(stdout + stderr).not.toContain(METRICS_TOKEN);
  });

  it('the disk of the data directory and the age of its last backup are told', async () => {
    const before = await figures();
    expect(before.get('data_directory_free_bytes')).toBeGreaterThan(1_000_000);
    expect(before.get('data_directory_size_bytes')).toBeGreaterThan(before.get('data_directory_free_bytes') ?? 0);
    expect(before.get('backup_last_timestamp_seconds')).toBe(0);
    const directory = await mkdtemp(join(tmpdir(), 'backup-'));
    const began = Date.now() / 1000;
    expect(await service().cli('backup', join(directory, 'one'))).toMatchObject({ code: 0, stderr: '' });
    const last = (await figures()).get('backup_last_timestamp_seconds');
    expect(last).toBeGreaterThanOrEqual(began - 1);
    // One that fails is none.
    expect((await service().cli('backup', join(directory, 'one'))).code).toBe(1);
    expect((await figures()).get('backup_last_timestamp_seconds')).toBe(last);
    await rm(directory, { recursive: true });
  });
});

it('WEBHOOK_CONCURRENCY deliveries are in work at once', async () => {
  const [open, counts] = [new Set(), new Set<number>()];
  receiver.reply('/busy', (nth) => (answer) => {
    counts.add(open.add(nth).size);
    setTimeout(() => answer.end('{}', () => open.delete(nth)), 50);
  });
  for (let n = 0; n < 6; n += 1) await addWebhook(acme(), receiver.url('/busy'));
  await approvedOrder(acme());
  await receiver.received('/busy', 6);
  expect(Math.max(...counts)).toBeLessThanOrEqual(2);
});

it('WEBHOOK_ALLOWED_PORTS are those of public addresses', async () => {
  const answer = await expectInvalid(service(), ['url'], () =>
    acme().platform('POST', '/webhooks', { body: { url: 'https://8.8.8.8/' } }),
  );
  expect(answer.text).toContain('on port 9443 only');
});

describe('requests whose bodies do not end', () => {
  const agent = new Agent({ maxSockets: 2 * MAX_REQUESTS_IN_FLIGHT });
  const slow: ClientRequest[] = [];
  const leave = (): void => {
    for (const each of slow.splice(0)) each.destroy();
  };
  afterAll(() => agent.destroy());

  /** @returns the first answer. Who is answered comes again: what comes while a list is answered may be one too many */
  async function open(count: number, length: number): Promise<IncomingMessage> {
    const { host } = acme();
    const authorization = `Bearer ${await acme().token()}`;
    const headers = { host, authorization, 'content-type': 'application/json', 'content-length': length };
    return new Promise((resolve) => {
      const begin = (): void => {
        const where = { host: '127.0.0.1', port: service().port, method: 'POST', path: ITEMS };
        const outgoing = request({ agent, ...where, headers });
        outgoing.on('error', () => {});
        outgoing.on('response', (response) => {
          resolve(response);
          outgoing.destroy();
          begin();
        });
        outgoing.write('{');
        slow.push(outgoing);
      };
      for (let n = 0; n < count; n += 1) begin();
    });
  }

  it('large writes of one tenant wait for a turn; more than may wait are 429, and other tenants have theirs', async () => {
    const refused = await open(MAX_WAITING_OF_TENANT + 20, 20_000);
    expect(refused).toMatchObject({ statusCode: 429, headers: { 'retry-after': '1' } });
    const items = [{ external_id: 'one', name: 'Tea' }];
    expect((await tenant('other').postBatch('dyn_item', { items })).status).toBe(200);
    leave();
    while ((await acme().postBatch('dyn_item', { items })).status !== 200);
  });

  it('one tenant has a limited number of requests in work; more are 429, and other tenants are served', async () => {
    void open(MAX_REQUESTS_IN_FLIGHT + 20, 2);
    let answer = await acme().getList('dyn_item');
    while (answer.status === 200) answer = await acme().getList('dyn_item');
    expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
    expect((await tenant('other').getList('dyn_item')).status).toBe(200);
    leave();
    while (answer.status !== 200) answer = await acme().getList('dyn_item');
  });
});
