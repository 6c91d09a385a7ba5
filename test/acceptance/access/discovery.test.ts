/** OAuth clients find the token endpoint by the host alone (RFC 8414), and the ways they sign in with (RFC 6749 §2.3.1). */
import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { sendLines } from '../rawHttp.js';
import { expectRefused } from '../refusals.js';
import { startService } from '../service.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({
  tenants: { acme: 'dyn_stock_order', cargo: 'dyn_transport_order' },
  env: { DEFAULT_TENANT: 'acme' },
});
const acme = () => run.tenant('acme');
const SERVER = '/.well-known/oauth-authorization-server';
const RESOURCE = '/.well-known/oauth-protected-resource';
/** Of a client that is made without naming any. */
const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];

const runScript = promisify(execFile);

describe('the package openid-client', () => {
  it.each([
    ['acme', 'http://acme.localhost', undefined],
    ['cargo', 'http://cargo.localhost', 'read:order_data'],
    ['acme', 'http://127.0.0.1', 'read:reference_data write:reference_data'],
    ['acme', 'http://acme.localhost.', undefined],
  ])('of %s gets tokens at %s in each way that is offered, and asks the API', async (name, origin, scope) => {
    const { client_id: clientId, client_secret: clientSecret } = run.tenant(name).client;
    const issuer = `${origin}:${run.service.port}`;
    const given = JSON.stringify({ issuer, clientId, clientSecret, scope });
    const { stdout } = await runScript(process.execPath, [resolve(__dirname, 'openidClient.mjs'), given]);
    const got = {
      found: `${issuer}/oauth/token`,
      token_type: 'bearer',
      expires_in: 3600,
      status: 200,
      tables: expect.any(Number),
    };
    expect(JSON.parse(stdout)).toEqual({ client_secret_post: got, client_secret_basic: got, default: got });
  });
});

describe('the metadata', () => {
  const issuerAt = (host: string): object => ({
    issuer: `http://${host}`,
    token_endpoint: `http://${host}/oauth/token`,
    jwks_uri: `http://${host}/.well-known/jwks.json`,
    scopes_supported: [...SCOPES, 'read:audit'],
    response_types_supported: [],
    grant_types_supported: ['client_credentials'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    service_documentation: `http://${host}/docs`,
  });

  it('name each tenant’s origin as its issuer, as the client has written it, without a token (RFC 8414 §2, §3.3)', async () => {
    for (const host of [acme().host, run.tenant('cargo').host, 'localhost', `127.0.0.1:${run.service.port}`]) {
      const answer = await acme().send('GET', SERVER, { token: null, headers: { host } });
      expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json; charset=utf-8' } });
      expect(answer.body).toEqual(issuerAt(host));
    }
    const target = `GET http://cargo.localhost${SERVER} HTTP/1.1`;
    const { body } = await sendLines(run.service.port, [target, `Host: ${acme().host}`, 'Connection: close']);
    expect(JSON.parse(body)).toEqual(issuerAt('cargo.localhost'));
  });

  it('are those of the API as a protected resource, too (RFC 9728 §2)', async () => {
    const origin = `http://${acme().host}`;
    expect((await acme().send('GET', RESOURCE, { token: null })).body).toEqual({
      resource: origin,
      authorization_servers: [origin],
      jwks_uri: `${origin}/.well-known/jwks.json`,
      scopes_supported: [...SCOPES, 'read:audit'],
      bearer_methods_supported: ['header'],
      resource_documentation: `${origin}/docs`,
    });
  });

  it('lead to keys that are public: none has a private part', async () => {
    const { body } = await acme().send('GET', '/.well-known/jwks.json', { token: null });
    expect(body).toEqual({ keys: expect.arrayContaining([expect.objectContaining({ kty: 'EC', crv: 'P-256' })]) });
    expect(JSON.stringify(body)).not.toMatch(/"(?:d|k|p|q)":/);
  });

  it.each([SERVER, RESOURCE])('at a host of nobody are 404: %s', async (path) => {
    const headers = { host: 'nobody.localhost' };
    await expectRefused(run.service, 404, () => acme().send('GET', path, { token: null, headers }));
  });

  it('have the origin that a trusted proxy passes on', async () => {
    const service = await startService({ tenants: { acme: 'dyn_stock_order' }, env: { TRUST_PROXY: '1' } });
    try {
      const headers = {
        host: 'inside:3000',
        'x-forwarded-host': 'acme.localhost',
        'x-forwarded-proto': 'https',
      };
      const { body } = await service.send({ method: 'GET', path: SERVER, headers });
      expect(body).toMatchObject({ issuer: 'https://acme.localhost' });
    } finally {
      await service.dispose();
    }
  });
});

describe('a token request', () => {
  /** As RFC 6749 Appendix B encodes it, every character that it lets a client encode included. */
  const encoded = (text: string): string =>
    [...text].map((c) => (/[a-z\d]/i.test(c) ? c : `%${c.charCodeAt(0).toString(16).toUpperCase()}`)).join('');

  it.each<[string, (text: string) => string]>([
    ['as they are', (text) => text],
    ['form-encoded', encoded],
    ['encoded by encodeURIComponent', encodeURIComponent],
    ['form-encoded in lower case', (text) => encoded(text).replace(/%../g, (code) => code.toLowerCase())],
  ])('has the id and the secret %s in Basic, both ways are read', async (_how, encode) => {
    const { client_id, client_secret } = acme().client;
    expect(client_secret).toMatch(/^das_/);
    const credentials = Buffer.from(`${encode(client_id)}:${encode(client_secret)}`).toString('base64');
    for (const scheme of ['Basic ', 'basic ', 'BASIC   ']) {
      const answer = await acme().send('POST', '/oauth/token', {
        token: null,
        raw: 'grant_type=client_credentials',
        headers: { authorization: `${scheme}${credentials}`, 'content-type': 'application/x-www-form-urlencoded' },
      });
      expect(answer.status).toBe(200);
    }
  });

  it('with a % that encodes nothing is 401, as any wrong secret', async () => {
    const { client_id } = acme().client;
    for (const secret of ['100%', '%zz', '%FF', 'a+b', '']) {
      const authorization = `Basic ${Buffer.from(`${client_id}:${secret}`).toString('base64')}`;
      const answer = await acme().requestToken({ grant_type: 'client_credentials' }, { authorization });
      expect(answer).toMatchObject({ status: 401, body: { error: 'invalid_client' } });
      expect(answer.headers['www-authenticate']).toContain('Basic ');
    }
  });

  it.each([
    {},
    { scope: '' },
    { scope: ' ' },
    { scope: null },
    { scope: SCOPES.join(' ') },
    { scope: SCOPES.join('  ') },
  ])('with %j, as libraries send it, is for all scopes of the client, whatever Accept says', async (scope) => {
    const { client_id, client_secret } = acme().client;
    const body = { grant_type: 'client_credentials', client_id, client_secret, audience: 'ignored', ...scope };
    for (const accept of ['application/json', 'application/xml', '*/*;q=0.1']) {
      const answer = await acme().requestToken(body, { accept });
      expect(answer).toMatchObject({ status: 200, body: { scope: SCOPES.join(' '), token_type: 'Bearer' } });
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  it('leads to a token that is taken after a scheme in any case and several spaces', async () => {
    const token = await acme().token();
    for (const authorization of [`Bearer ${token}`, `bearer  ${token}`, `BEARER    ${token} `]) {
      expect((await acme().send('GET', ASSETS, { token: null, headers: { authorization } })).status).toBe(200);
    }
  });
});
