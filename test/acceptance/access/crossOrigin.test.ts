/** Pages of other origins (CORS): those that CORS_ORIGINS names may call the API, no other. */
import type { Answer } from '../http.js';
import { startService } from '../service.js';
import { ASSETS, PLATFORM } from '../tenant.js';
import { useService } from '../useService.js';

const PORTAL = 'https://portal.example.com';
const run = useService({
  tenants: { acme: 'dyn_stock_order' },
  env: { CORS_ORIGINS: ' HTTPS://Portal.Example.com:443, http://localhost:5173', RATE_LIMIT_PER_SECOND: '100' },
});
const acme = () => run.tenant('acme');
const ITEMS = `${ASSETS}/dyn_item/assets`;

const fieldsOf = ({ headers }: Answer) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith('access-control-')));

const asked = { 'access-control-request-method': 'PUT' };

describe('a preflight', () => {
  it.each([PORTAL, 'http://localhost:5173'])('of %s is answered without a token, whatever its path', async (origin) => {
    const fields = 'authorization,content-type,if-match,idempotency-key,x-anything';
    const headers = { origin, ...asked, 'access-control-request-headers': fields };
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
  });

  it('costs nobody anything: not the tenant’s rate, nor that of the network, and needs no known host', async () => {
    const headers = { origin: PORTAL, ...asked, host: 'nobody.localhost' };
    const answers = await Promise.all(
      Array.from({ length: 300 }, () => acme().send('OPTIONS', '/oauth/token', { token: null, headers })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([204]));
    expect(answers[0]?.headers.ratelimit).toBeUndefined();
  });

  it('of another origin is an OPTIONS like any other', async () => {
    const headers = { origin: 'https://portal.example.com.evil.example', ...asked };
    const without = await acme().send('OPTIONS', ITEMS);
    const answer = await acme().send('OPTIONS', ITEMS, { headers });
    expect([answer.status, answer.headers.allow]).toEqual([without.status, without.headers.allow]);
    expect(fieldsOf(answer)).toEqual({});
    expect((await acme().send('OPTIONS', ITEMS, { headers, token: null })).status).toBe(401);
  });
});

describe('a request', () => {
  const exposed = (answer: Answer): readonly string[] =>
    String(answer.headers['access-control-expose-headers']).toLowerCase().split(', ');

  it('of an origin that is named may be read, with what a client needs of its header fields', async () => {
    const headers = { origin: PORTAL, 'idempotency-key': 'cors-1' };
    const body = { external_id: 'C1', name: 'Tea' };
    const created = await acme().postRecord('dyn_item', body, { headers });
    const again = await acme().postRecord('dyn_item', body, { headers });
    expect([created.status, again.status]).toEqual([201, 201]);
    expect(fieldsOf(created)['access-control-allow-origin']).toBe(PORTAL);
    for (const name of ['etag', 'location', 'x-request-id', 'ratelimit', 'ratelimit-policy']) {
      expect(created.headers[name]).toEqual(expect.any(String));
      expect(exposed(created)).toContain(name);
    }
    expect(again.headers['idempotency-replayed']).toBe('true');
    expect(exposed(again)).toEqual(
      expect.arrayContaining(['idempotency-replayed', 'retry-after', 'projection-pending']),
    );
  });

  it('is told so of compressed answers, of 304 and of errors as well, and never with credentials', async () => {
    const headers = { origin: PORTAL };
    const list = await acme().getList('dyn_item', '', { headers: { ...headers, 'accept-encoding': 'gzip' } });
    const held = { ...headers, 'if-none-match': String(list.headers.etag) };
    const answers = [
      [200, list],
      [304, await acme().getList('dyn_item', '', { headers: held })],
      [400, await acme().getList('dyn_item', 'page=0', { headers })],
      [401, await acme().getList('dyn_item', '', { headers, token: null })],
      [404, await acme().send('GET', '/nothing', { headers, token: null })],
      [404, await acme().getList('dyn_item', '', { headers: { ...headers, host: 'nobody.localhost' } })],
      [405, await acme().send('PATCH', ITEMS, { headers })],
      [415, await acme().send('POST', ITEMS, { headers: { ...headers, 'content-type': 'text/plain' }, raw: 'x' })],
      [422, await acme().postRecord('dyn_item', {}, { headers })],
      [401, await acme().requestToken({ grant_type: 'client_credentials' }, headers)],
    ] as const;
    for (const [status, answer] of answers) {
      expect(answer.status).toBe(status);
      expect(fieldsOf(answer)).toEqual({
        'access-control-allow-origin': PORTAL,
        'access-control-expose-headers': expect.any(String),
      });
      expect(String(answer.headers.vary).split(', ')).toContain('Origin');
    }
    expect(list.headers.vary).toBe('Origin, Accept-Encoding');
  });

  it.each([
    'https://other.example.com',
    'http://portal.example.com',
    'https://portal.example.com:8443',
    'https://PORTAL.example.com',
    'http://192.168.0.7',
    'null',
    '*',
  ])('of %s, which is not named, is answered as without an origin', async (origin) => {
    const plain = await acme().getList('dyn_item');
    const answer = await acme().getList('dyn_item', '', { headers: { origin } });
    expect(answer).toMatchObject({ status: 200, text: plain.text });
    expect(fieldsOf(answer)).toEqual({});
    expect(answer.headers.vary).toBe('Origin, Accept-Encoding');
  });

  it('with the session cookie is refused, also from an origin that is named', async () => {
    const headers = { origin: PORTAL, cookie: `da_session=${await acme().signIn()}` };
    const answer = await acme().send('POST', `${PLATFORM}/users`, { token: null, headers, body: {} });
    expect(answer.status).toBe(403);
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
  });
});

it('without the setting, no answer says anything of origins', async () => {
  const service = await startService({ tenants: { acme: 'dyn_stock_order' } });
  try {
    const headers = { origin: PORTAL };
    const answer = await service.tenant('acme').getList('dyn_item', '', { headers });
    expect(fieldsOf(answer)).toEqual({});
    expect(answer.headers.vary).toBe('Accept-Encoding');
    const preflight = await service.tenant('acme').send('OPTIONS', ITEMS, { headers: { ...headers, ...asked } });
    expect(fieldsOf(preflight)).toEqual({});
  } finally {
    await service.dispose();
  }
});
