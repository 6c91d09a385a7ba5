import { generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import type { NewClient } from '#app/commands/identity/clients.js';
import { removeClient } from '#app/commands/identity/clients.js';
import { changeRateLimit } from '#app/commands/identity/tenants.js';
import { type Call, dyn, operator, startTestApi, type TestApi } from './harness.js';

let api: TestApi;
let client: NewClient;

beforeAll(async () => {
  api = await startTestApi({ DEFAULT_TENANT: 'acme', BASE_HOST: 'assets.example.com' });
  await api.addTenant('acme');
  await api.addTenant('globex', 'dyn_transport_order');
  client = await api.addClient('acme', ['read:reference_data', 'write:reference_data', 'read:order_data']);
});

afterAll(() => api.stop());

const HOST = 'acme.assets.example.com';
const PARTIES = dyn('/dyn_party/assets');

const get = (path: string, call: Call = {}) => api.call('GET', path, { host: HOST, ...call });
const askToken = (call: Call) => api.call('POST', '/oauth/token', { host: HOST, ...call });
const good = (more: object = {}) => ({
  grant_type: 'client_credentials',
  client_id: client.clientId,
  client_secret: client.clientSecret,
  ...more,
});
const basic = (id: string, secret: string): { Authorization: string } => ({
  Authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' };
const tokenFor = async (more: object = {}): Promise<string> =>
  String((await askToken({ body: good(more) })).json.access_token);

describe('§5 the token endpoint', () => {
  test('§5.2, §5.3: a JSON request is answered with a bearer token and its validity', async () => {
    const answer = await askToken({ body: good({ scope: 'read:reference_data' }) });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      access_token: expect.any(String),
      token_type: 'Bearer',
      expires_in: 3600,
      scope: 'read:reference_data',
    });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  test('the token is an RFC 9068 access token that the public keys verify', async () => {
    const token = await tokenFor();
    const decoded = jwt.decode(token, { complete: true });
    expect(decoded?.header).toMatchObject({ alg: 'ES256', typ: 'at+jwt', kid: expect.any(String) });
    expect(decoded?.payload).toMatchObject({
      iss: 'https://assets.example.com',
      aud: 'https://assets.example.com/api/v1/dynamic-assets',
      sub: client.clientId,
      client_id: client.clientId,
      scope: client.scopes.join(' '),
      tenant: 'acme',
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
    const { keys } = (await get('/.well-known/jwks.json')).json;
    expect(keys[0].kid).toBe(decoded?.header.kid);
  });

  test('a form, and Basic credentials, serve as well', async () => {
    const form = new URLSearchParams(good()).toString();
    expect((await askToken({ body: form, headers: FORM })).status).toBe(200);
    const headers = basic(client.clientId, client.clientSecret);
    expect((await askToken({ body: { grant_type: 'client_credentials' }, headers })).status).toBe(200);
    const encoded = basic(client.clientId.replaceAll('-', '%2D'), client.clientSecret);
    expect((await askToken({ body: { grant_type: 'client_credentials' }, headers: encoded })).status).toBe(200);
  });

  test.each<[string, () => Call, number, string]>([
    ['no grant_type', () => ({ body: good({ grant_type: '' }) }), 400, 'invalid_request'],
    ['another grant_type', () => ({ body: good({ grant_type: 'password' }) }), 400, 'unsupported_grant_type'],
    ['no credentials', () => ({ body: { grant_type: 'client_credentials' } }), 401, 'invalid_client'],
    ['a wrong secret', () => ({ body: good({ client_secret: 'wrong' }) }), 401, 'invalid_client'],
    ['an unknown client', () => ({ body: good({ client_id: 'nobody' }) }), 401, 'invalid_client'],
    ["another tenant's client", () => ({ host: 'globex.assets.example.com', body: good() }), 401, 'invalid_client'],
    ['credentials twice', () => ({ body: good(), headers: basic('a', 'b') }), 400, 'invalid_request'],
    ['an unknown scope', () => ({ body: good({ scope: 'read:everything' }) }), 400, 'invalid_scope'],
    ['a scope the client lacks', () => ({ body: good({ scope: 'write:order_data' }) }), 400, 'invalid_scope'],
    ['a scope that is a number', () => ({ body: good({ scope: 7 }) }), 400, 'invalid_request'],
    ['an array', () => ({ body: [] }), 400, 'invalid_request'],
    ['no JSON', () => ({ body: '{' }), 400, 'invalid_request'],
    ['no body', () => ({ body: '' }), 400, 'invalid_request'],
    ['a parameter twice', () => ({ body: 'grant_type=a&grant_type=b', headers: FORM }), 400, 'invalid_request'],
    ['text', () => ({ body: 'x', headers: { 'Content-Type': 'text/plain' } }), 415, 'invalid_request'],
    [
      'Bearer instead of Basic',
      () => ({ body: { grant_type: 'client_credentials' }, token: 'x' }),
      401,
      'invalid_client',
    ],
  ])('RFC 6749 §5.2: %s', async (_what, call, status, error) => {
    const answer = await askToken(call());
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ error, error_description: expect.any(String), message: expect.any(String) });
    expect(answer.headers['cache-control']).toBe('no-store');
    if (status === 401) expect(answer.headers['www-authenticate']).toMatch(/^Basic realm=/);
  });

  test('guessing a secret ends in 429, and leaves other clients alone', async () => {
    const target = await api.addClient('acme');
    const guess = () => askToken({ body: good({ client_id: target.clientId, client_secret: 'guess' }) });
    for (let n = 0; n < 20; n += 1) expect((await guess()).status).toBe(401);
    const refused = await guess();
    expect(refused.status).toBe(429);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.json).toEqual({ message: expect.any(String), error: expect.any(String) });
    expect((await askToken({ body: good() })).status).toBe(200);
  });

  test('only POST', async () => {
    const answer = await get('/oauth/token');
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST']);
  });
});

describe('§5.4 bearer tokens', () => {
  const claims = { client_id: 'x', scope: 'read:reference_data', tenant: 'acme' };
  const foreignKey = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  const kidOf = (token: string): string => jwt.decode(token, { complete: true })?.header.kid ?? '';
  const tampered = (token: string): string => {
    const [header = '', payload = '', signature = ''] = token.split('.');
    const changed = { ...JSON.parse(Buffer.from(payload, 'base64url').toString()), scope: 'write:order_data' };
    return `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`;
  };

  test('without one it is 401, with a challenge that names no error (RFC 6750 §3.1)', async () => {
    for (const headers of [{}, { Authorization: 'Basic eDp5' }, { Authorization: 'Bearer' }]) {
      const answer = await get(PARTIES, { headers });
      expect(answer.status).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="dynamic-assets"');
      expect(answer.json).toEqual({ message: 'Unauthenticated.', error: expect.any(String) });
    }
  });

  test.each<[string, (token: string) => string]>([
    ['nonsense', () => 'abc'],
    ['a header that is no JSON', () => 'YWJj.YWJj.YWJj'],
    [
      'alg none',
      (token) =>
        jwt.sign(claims, null, { algorithm: 'none', keyid: kidOf(token), header: { alg: 'none', typ: 'at+jwt' } }),
    ],
    [
      'HS256',
      (token) =>
        jwt.sign(claims, 'secret', {
          algorithm: 'HS256',
          keyid: kidOf(token),
          header: { alg: 'HS256', typ: 'at+jwt' },
        }),
    ],
    [
      "another's key",
      (token) =>
        jwt.sign(claims, foreignKey, {
          algorithm: 'ES256',
          keyid: kidOf(token),
          header: { alg: 'ES256', typ: 'at+jwt' },
        }),
    ],
    [
      'an unknown key id',
      () =>
        jwt.sign(claims, foreignKey, { algorithm: 'ES256', keyid: 'unknown', header: { alg: 'ES256', typ: 'at+jwt' } }),
    ],
    ['changed claims', tampered],
    ['5000 characters', () => 'a'.repeat(5000)],
  ])('%s is 401 invalid_token', async (_what, make) => {
    const answer = await get(PARTIES, { token: make(await tokenFor()) });
    expect(answer.status).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  test("another tenant's token is 401, also when it was good on its own host before", async () => {
    const token = await tokenFor();
    expect((await get(PARTIES, { token })).status).toBe(200);
    expect((await get(PARTIES, { token, host: 'globex.assets.example.com' })).status).toBe(401);
  });

  test("a client's token does not open the platform API", async () => {
    const answer = await get('/api/v1/platform/orders/to-validate', { token: await tokenFor() });
    expect(answer.status).toBe(401);
  });

  test('§5.6: a token grants the scopes asked for and no others', async () => {
    const token = await tokenFor({ scope: 'read:order_data' });
    expect((await get(dyn('/dyn_stock_order/assets'), { token })).status).toBe(200);
    const refused = await get(PARTIES, { token });
    expect(refused.status).toBe(403);
    expect(refused.headers['www-authenticate']).toBe(
      'Bearer realm="dynamic-assets", error="insufficient_scope", scope="read:reference_data"',
    );
    expect(refused.json).toEqual({ message: 'Forbidden.', error: expect.any(String) });
    const order = await api.call('POST', dyn('/dyn_stock_order/assets'), { host: HOST, token, body: {} });
    expect(order.status).toBe(403);
  });

  test('an unknown table is 404 before the scope is looked at, and the scope comes before the body', async () => {
    const token = await tokenFor({ scope: 'read:order_data' });
    expect((await get(dyn('/dyn_nothing/assets'), { token })).status).toBe(404);
    const answer = await api.call('POST', PARTIES, { host: HOST, token, body: '{', headers: {} });
    expect(answer.status).toBe(403);
  });

  test('removing a client ends its tokens at once', async () => {
    const leaving = await api.addClient('acme');
    const token = await tokenFor({ client_id: leaving.clientId, client_secret: leaving.clientSecret });
    expect((await get(PARTIES, { token })).status).toBe(200);
    await removeClient(api.service.commands, operator('acme'), leaving.clientId);
    expect((await get(PARTIES, { token })).status).toBe(401);
  });
});

describe('tenants by host', () => {
  test.each([
    ['acme.assets.example.com', 200],
    ['ACME.Assets.Example.COM', 200],
    ['assets.example.com', 200],
    ['localhost', 200],
    ['127.0.0.1', 200],
    ['[::1]', 200],
    ['globex.assets.example.com', 401],
    ['nobody.assets.example.com', 404],
    ['acme.example.com', 404],
    ['a.acme.assets.example.com', 404],
    ['acmeassets.example.com', 404],
    ['__proto__.assets.example.com', 404],
  ])('%s is %i', async (host, status) => {
    const token = await tokenFor();
    const answer = await get(PARTIES, { host, token, headers: { 'X-Forwarded-Host': HOST } });
    expect(answer.status).toBe(status);
  });
});

test('§8: a tenant can set a rate; beyond it requests are 429 and told when to come back', async () => {
  await api.addTenant('slow');
  await changeRateLimit(api.service.commands, operator('slow'), { perSecond: 1, burst: 3 });
  const host = 'slow.assets.example.com';
  const slow = await api.addClient('slow');
  const { json } = await askToken({ host, body: good({ client_id: slow.clientId, client_secret: slow.clientSecret }) });
  const answers = [];
  for (let n = 0; n < 5; n += 1) answers.push(await get(PARTIES, { host, token: json.access_token }));
  expect(answers.map((answer) => answer.status)).toEqual([200, 200, 200, 429, 429]);
  expect(answers[0]?.headers).toMatchObject({ 'ratelimit-policy': '"client";q=3;w=3', ratelimit: '"client";r=2;t=0' });
  expect(answers[3]?.headers['retry-after']).toBe('1');
  expect(answers[3]?.json).toEqual({ message: 'Too many requests.', error: expect.any(String) });
});
