/** What the operator sets for the whole service: origins that may call it, who may scrape it, and what bounds it. */
import { mkdtemp, rm } from 'node:fs/promises';
import { Agent, type ClientRequest, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer } from '../http.js';
import { addPerson, askSession, PASSWORD } from '../people.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const PORTAL = 'https://portal.example.com';
const METRICS_TOKEN = 'scrape-3f9c1b7e5a2d4c68';
const SIGN_INS = 3;
const run = useService({
  tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' },
  env: {
    CORS_ORIGINS: ' HTTPS://Portal.Example.com:443, http://localhost:5173',
    LOG_LEVEL: 'debug',
    METRICS_TOKEN,
    METRICS_TENANTS: '1',
    REQUESTS_IN_FLIGHT: '3',
    SIGN_INS_PER_HOUR: String(SIGN_INS),
  },
});
const acme = () => run.tenant('acme');
const ITEMS = `${ASSETS}/dyn_item/assets`;

describe('CORS_ORIGINS', () => {
  const fieldsOf = ({ headers }: Answer) =>
    Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));
  const exposed = (answer: Answer): readonly string[] =>
    String(answer.headers['access-control-expose-headers']).toLowerCase().split(', ');

  it.each([PORTAL, 'http://localhost:5173'])(
    'answers a preflight of %s without a token, whatever its path',
    async (origin) => {
      const fields = 'authorization,content-type,if-match,idempotency-key,x-anything';
      const headers = { origin, 'access-control-request-method': 'PUT', 'access-control-request-headers': fields };
      for (const path of [ITEMS, '/oauth/token', `${PLATFORM}/orders`, '/nothing', '/openapi.json']) {
        const answer = await acme().send('OPTIONS', path, { token: null, headers });
        expect(answer).toMatchObject({ status: 204, text: '' });
        expect(fieldsOf(answer)).toEqual({
          'access-control-allow-origin': origin,
          'access-control-allow-methods': 'HEAD, GET, POST, PUT, DELETE',
          'access-control-allow-headers': fields,
          'access-control-max-age': '3600',
        });
        expect(answer.headers.vary).toBe('Origin, Access-Control-Request-Headers');
      }
    },
  );

  it('lets such a page read an answer, with what a client needs of its header fields', async () => {
    const headers = { origin: PORTAL, 'idempotency-key': 'cors-1' };
    const body = { external_id: 'C1', name: 'Tea' };
    const created = await acme().postRecord('dyn_item', body, { headers });
    const again = await acme().postRecord('dyn_item', body, { headers });
    expect([created.status, again.status]).toEqual([201, 201]);
    for (const name of ['etag', 'location', 'x-request-id', 'ratelimit', 'ratelimit-policy']) {
      expect(created.headers[name]).toEqual(expect.any(String));
      expect(exposed(created)).toContain(name);
    }
    expect(again.headers['idempotency-replayed']).toBe('true');
    for (const name of ['idempotency-replayed', 'retry-after', 'projection-pending'])
      expect(exposed(again)).toContain(name);
  });

  it.each([
    ...['https://other.example.com', 'http://portal.example.com', 'https://portal.example.com:8443', 'null', '*'],
    'https://portal.example.com.evil.example',
  ])('is nothing to %s, which is not named', async (origin) => {
    const answer = await acme().getList('dyn_item', '', { headers: { origin } });
    expect([answer.status, fieldsOf(answer), answer.headers.vary]).toEqual([200, {}, 'Origin, Accept-Encoding']);
    const preflight = { origin, 'access-control-request-method': 'PUT' };
    expect(fieldsOf(await acme().send('OPTIONS', ITEMS, { headers: preflight }))).toEqual({});
    expect((await acme().send('OPTIONS', ITEMS, { headers: preflight, token: null })).status).toBe(401);
  });
});

describe('METRICS_TOKEN', () => {
  const scrape = async (token = METRICS_TOKEN, headers = {}) =>
    run.service.send({ method: 'GET', path: '/metrics', headers: { authorization: `Bearer ${token}`, ...headers } });
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
    const { stdout, stderr } = await run.service.cli('config');
    expect(stdout + stderr).not.toContain(METRICS_TOKEN);
  });

  it('METRICS_TENANTS bounds the series: all other tenants share one', async () => {
    for (const name of ['acme', 'other']) await run.tenant(name).batch('dyn_party', [{ external_id: 'A', name: 'A' }]);
    let found = await figures();
    while ((found.get('tenant_records{tenant="_other"}') ?? 0) < 1) found = await figures();
    const series = [...found.keys()].filter((each) => /^tenant_|^sign_ins/.test(each));
    const tenants = new Set(series.map((each) => /tenant="([^"]*)"/.exec(each)?.[1]));
    expect([...tenants].sort()).toEqual(['_other', expect.stringMatching(/^(acme|other)$/)]);
  });

  it('the disk of the data directory, the log in it and the age of its last backup are told', async () => {
    const before = await figures();
    expect(before.get('data_directory_free_bytes')).toBeGreaterThan(1_000_000);
    expect(before.get('data_directory_size_bytes')).toBeGreaterThan(before.get('data_directory_free_bytes') ?? 0);
    expect(before.get('event_log_bytes')).toBeGreaterThan(1_000);
    expect(before.get('backup_last_timestamp_seconds')).toBe(0);
    const directory = await mkdtemp(join(tmpdir(), 'backup-'));
    const began = Date.now() / 1000;
    expect(await run.service.cli('backup', join(directory, 'one'))).toMatchObject({ code: 0, stderr: '' });
    const last = (await figures()).get('backup_last_timestamp_seconds');
    expect(last).toBeGreaterThanOrEqual(began - 1);
    // One that fails is none.
    expect((await run.service.cli('backup', join(directory, 'one'))).code).toBe(1);
    expect((await figures()).get('backup_last_timestamp_seconds')).toBe(last);
    await rm(directory, { recursive: true });
  });
});

it('REQUESTS_IN_FLIGHT: of one tenant so many are answered at once; more are 429, and other tenants are served', async () => {
  const agent = new Agent({ maxSockets: 10 });
  const { host } = acme();
  const headers = { host, authorization: `Bearer ${await acme().token()}`, 'content-type': 'application/json' };
  const slow: ClientRequest[] = [];
  // Requests whose bodies do not end stay in flight. One that comes while a list is answered may be one too many.
  const open = (): void => {
    const where = { host: '127.0.0.1', port: run.service.port, method: 'POST', path: ITEMS };
    const outgoing = request({ agent, ...where, headers });
    outgoing.on('error', () => {});
    outgoing.on('response', () => {
      outgoing.destroy();
      open();
    });
    outgoing.write('{');
    slow.push(outgoing);
  };
  for (let n = 0; n < 9; n += 1) open();
  let answer = await acme().getList('dyn_item');
  while (answer.status === 200) answer = await acme().getList('dyn_item');
  expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '1' } });
  expect((await run.tenant('other').getList('dyn_item')).status).toBe(200);
  for (const each of slow) each.destroy();
  while (answer.status !== 200) answer = await acme().getList('dyn_item');
  agent.destroy();
});

it('SIGN_INS_PER_HOUR: a user opens so many sessions, and no more: each could become an event', async () => {
  const busy = await addPerson(run.tenant('other'), 'busy', ['validator']);
  const ask = async () => (await askSession(run.tenant('other'), busy.email, PASSWORD)).status;
  // One was opened before, and every 20 minutes there is one more.
  const statuses = [await ask(), await ask(), await ask(), await ask()];
  expect(statuses).toEqual([200, 200, 429, 429]);
  expect((await busy.call('GET', '/session')).status).toBe(200);
});
