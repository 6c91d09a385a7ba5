/** Tokens: how one gets them, and what they open (spec §4.10, §5). */
import { createPublicKey } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import type { Answer } from '../http.js';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

const credentials = () => ({
  grant_type: 'client_credentials',
  client_id: acme().client.client_id,
  client_secret: acme().client.client_secret,
});
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});
const ownBasic = () => basic(acme().client.client_id, acme().client.client_secret);

const tokenAnswer = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  scope: z.string(),
});
function issued(answer: Answer): z.output<typeof tokenAnswer> {
  if (answer.status !== 200) throw new Error(answer.text);
  return tokenAnswer.parse(answer.body);
}
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const form = (fields: { [name: string]: string }, headers: { [name: string]: string } = {}) =>
  acme().send('POST', '/oauth/token', {
    token: null,
    raw: new URLSearchParams(fields).toString(),
    headers: { ...FORM, ...headers },
  });

/** RFC 6749 §5.2, with `message` beside it. */
function expectOAuthError(answer: Answer, status: number, code: string): void {
  expect(answer.status).toBe(status);
  expect(answer.body).toEqual({ error: code, error_description: expect.any(String), message: expect.any(String) });
}

describe('token request', () => {
  it('§5.2, §5.3: client credentials in a JSON body give a JWT, "Bearer" and 3600 seconds', async () => {
    const answer = await acme().requestToken({ ...credentials(), scope: 'read:reference_data' });
    const token = issued(answer);
    expect(token).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope: 'read:reference_data' });
    expect(token.access_token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('§5.2: the token can also be requested with Basic authentication', async () => {
    issued(await acme().requestToken({ grant_type: 'client_credentials' }, ownBasic()));
    issued(await form({ grant_type: 'client_credentials', scope: 'read:order_data' }, ownBasic()));
    const { client_id, client_secret } = acme().client;
    const escaped = Buffer.from(`${client_id.replaceAll('-', '%2D')}:${client_secret}`).toString('base64');
    issued(await acme().requestToken({ grant_type: 'client_credentials' }, { authorization: `Basic ${escaped}` }));
  });

  it('decision: the token endpoint takes a form body as well', async () => {
    expect(issued(await form({ ...credentials(), scope: 'read:order_data' })).scope).toBe('read:order_data');
  });

  it('decision: no scope asked means all that the client has', async () => {
    const { scope } = issued(await acme().requestToken(credentials()));
    expect(scope.split(' ').sort()).toEqual([...acme().client.scopes].sort());
  });

  it('decision: credentials in the body and by Basic at once are refused', async () => {
    expectOAuthError(await acme().requestToken(credentials(), ownBasic()), 400, 'invalid_request');
  });

  it('§5.3: the token is signed asymmetrically and can be checked with the public key set', async () => {
    const token = await acme().token();
    const { keys } = z
      .object({ keys: z.array(z.looseObject({ kid: z.string(), kty: z.string() })) })
      .parse((await acme().send('GET', '/.well-known/jwks.json', { token: null })).body);
    const header = jwt.decode(token, { complete: true })?.header;
    const key = keys.find(({ kid }) => kid === header?.kid);
    if (key === undefined) throw new Error('The key of the token is not published.');
    expect(header?.alg).toBe('ES256');
    expect(Object.keys(key)).not.toContain('d');
    const claims = jwt.verify(token, createPublicKey({ key, format: 'jwk' }), { algorithms: ['ES256'] });
    // RFC 9068 §2.2: the claims of an access token.
    expect(header?.typ).toBe('at+jwt');
    expect(claims).toMatchObject({
      iss: 'https://localhost',
      aud: 'https://localhost/api/v1/dynamic-assets',
      sub: acme().client.client_id,
      client_id: acme().client.client_id,
      scope: acme().client.scopes.join(' '),
      tenant: acme().name,
      jti: expect.any(String),
      iat: expect.any(Number),
      exp: expect.any(Number),
    });
  });

  const refused: readonly (readonly [string, () => Promise<Answer>, number, string])[] = [
    ['a wrong secret', () => acme().requestToken({ ...credentials(), client_secret: 'wrong' }), 401, 'invalid_client'],
    ['an unknown client', () => acme().requestToken({ ...credentials(), client_id: 'nobody' }), 401, 'invalid_client'],
    [
      '__proto__ as client',
      () => acme().requestToken({ ...credentials(), client_id: '__proto__' }),
      401,
      'invalid_client',
    ],
    ['no credentials', () => acme().requestToken({ grant_type: 'client_credentials' }), 401, 'invalid_client'],
    ['an empty grant type', () => acme().requestToken({ ...credentials(), grant_type: '' }), 400, 'invalid_request'],
    ['no grant type', () => acme().requestToken({ ...credentials(), grant_type: undefined }), 400, 'invalid_request'],
    [
      'another grant type',
      () => acme().requestToken({ ...credentials(), grant_type: 'password' }),
      400,
      'unsupported_grant_type',
    ],
    ['an unknown scope', () => acme().requestToken({ ...credentials(), scope: 'admin' }), 400, 'invalid_scope'],
    [
      'a scope that is no string',
      () => acme().requestToken({ ...credentials(), scope: ['a'] }),
      400,
      'invalid_request',
    ],
    ['a scope that is a number', () => acme().requestToken({ ...credentials(), scope: 7 }), 400, 'invalid_request'],
    [
      'a secret that is no string',
      () => acme().requestToken({ ...credentials(), client_secret: { $ne: '' } }),
      400,
      'invalid_request',
    ],
    ['a body that is a list', () => acme().requestToken([credentials()]), 400, 'invalid_request'],
    [
      'a body that is no JSON',
      () => acme().send('POST', '/oauth/token', { token: null, raw: '{' }),
      400,
      'invalid_request',
    ],
    ['an empty body', () => acme().send('POST', '/oauth/token', { token: null, raw: '' }), 400, 'invalid_request'],
    [
      'a parameter twice',
      () =>
        acme().send('POST', '/oauth/token', {
          token: null,
          raw: 'grant_type=client_credentials&grant_type=x',
          headers: FORM,
        }),
      400,
      'invalid_request',
    ],
    [
      'another content type',
      () => acme().send('POST', '/oauth/token', { token: null, raw: '<a/>', headers: { 'content-type': 'text/xml' } }),
      415,
      'invalid_request',
    ],
    [
      'malformed Basic',
      () => acme().requestToken({ grant_type: 'client_credentials' }, { authorization: 'Basic %%%' }),
      401,
      'invalid_client',
    ],
    [
      'Bearer instead of Basic',
      () => acme().requestToken({ grant_type: 'client_credentials' }, { authorization: 'Bearer x' }),
      401,
      'invalid_client',
    ],
    ["another tenant's client", () => run.tenant('hauler').requestToken(credentials()), 401, 'invalid_client'],
  ];
  it.each(refused)('§5.2 refuses %s as RFC 6749 says', async (_what, request, status, code) => {
    const before = await run.service.logHead();
    const answer = await request();
    expectOAuthError(answer, status, code);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(await run.service.logHead()).toBe(before);
  });

  it('§5.2 asks for Basic only where a client used the Authorization header: browsers take that for a dialog of their own', async () => {
    const body = { ...credentials(), client_secret: 'wrong' };
    const form = {
      raw: new URLSearchParams(body).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    };
    const inBody = [
      await acme().requestToken(body),
      await acme().requestToken({ grant_type: 'client_credentials' }),
      await acme().send('POST', '/oauth/token', { token: null, ...form }),
    ];
    for (const { status, headers } of inBody) {
      expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: undefined });
    }
    for (const authorization of [`Basic ${btoa('nobody:wrong')}`, 'Basic %%%', 'Bearer x']) {
      const { status, headers } = await acme().requestToken({ grant_type: 'client_credentials' }, { authorization });
      expect({ status, challenge: headers['www-authenticate'] }).toEqual({
        status: 401,
        challenge: 'Basic realm="dynamic-assets", charset="UTF-8"',
      });
    }
    // A browser says with each POST of a page where the page is from.
    const ofPage = { authorization: `Basic ${btoa('nobody:wrong')}`, origin: `http://${acme().host}` };
    const { status, headers } = await acme().requestToken({ grant_type: 'client_credentials' }, ofPage);
    expect({ status, challenge: headers['www-authenticate'] }).toEqual({ status: 401, challenge: undefined });
  });

  it('guessing a secret ends in 429, and leaves other clients alone', async () => {
    const made = await acme().platformData('POST', '/api-clients', { name: 'Guessed' });
    const { client_id } = z.object({ client_id: z.string() }).parse(made);
    const guess = () => acme().requestToken({ ...credentials(), client_id, client_secret: 'guess' });
    for (let n = 0; n < 20; n += 1) expect((await guess()).status).toBe(401);
    const refused = await expectRefused(run.service, 429, guess);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    issued(await acme().requestToken(credentials()));
  });

  it('§4.10: the token endpoint offers POST only', async () => {
    const answer = await acme().send('GET', '/oauth/token', { token: null });
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
  });
});

describe('scopes', () => {
  const path = (table: string, rest: string) => `${ASSETS}/${table}/${rest}`;
  const id = '01a1feb1-9a64-76fa-95fa-131ef9230738';
  const calls: readonly (readonly [string, string, string, string])[] = [
    ['GET', path('dyn_item', 'info'), 'read:reference_data', '§4.2'],
    ['GET', path('dyn_item', 'assets'), 'read:reference_data', '§4.3'],
    ['GET', path('dyn_item', `assets/${id}`), 'read:reference_data', '§4.4'],
    ['POST', path('dyn_item', 'assets'), 'write:reference_data', '§4.5'],
    ['PUT', path('dyn_item', `assets/${id}`), 'write:reference_data', '§4.6'],
    ['POST', path('dyn_item', 'assets/batch'), 'write:reference_data', '§4.7'],
    ['POST', path('dyn_item', 'assets/clean-up'), 'write:reference_data', '§4.8'],
    ['GET', path('dyn_stock_order', 'info'), 'read:order_data', '§4.2'],
    ['GET', path('dyn_stock_order', 'assets'), 'read:order_data', '§4.3'],
    ['GET', path('dyn_stock_order', `assets/${id}`), 'read:order_data', '§4.4'],
    ['GET', path('dyn_order_line', 'assets'), 'read:order_data', '§4.3'],
    ['POST', path('dyn_stock_order', 'assets'), 'write:order_data', '§4.5'],
    ['POST', path('dyn_order_line', 'assets'), 'write:order_data', '§4.5'],
    ['PUT', path('dyn_stock_order', `assets/${id}`), 'write:order_data', '§4.9'],
  ];
  const scopes = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];

  it.each(calls)('§5.6: %s %s needs %s (%s); the other three scopes are 403', async (method, url, needed) => {
    const body = method === 'GET' ? {} : { body: { nonsense: 1 } };
    for (const scope of scopes) {
      const token = await acme().token(scope);
      const { status, headers, body: answer } = await acme().send(method, url, { ...body, token });
      if (scope === needed) expect([200, 404, 422]).toContain(status);
      else {
        expect({ scope, status }).toEqual({ scope, status: 403 });
        expect(answer).toEqual({ message: 'Forbidden.', error: expect.any(String) });
        expect(headers['www-authenticate']).toBe(
          `Bearer realm="dynamic-assets", error="insufficient_scope", scope="${needed}"`,
        );
      }
    }
  });

  it('an unknown table is 404 before the scope is looked at, and the scope comes before the body', async () => {
    const token = await acme().token('read:order_data');
    await expectRefused(run.service, 404, () => acme().getList('dyn_nothing', '', { token }));
    await expectRefused(run.service, 403, () => acme().send('POST', path('dyn_item', 'assets'), { token, raw: '{' }));
  });

  it('§5.6: a token can grant several scopes', async () => {
    const token = await acme().token('read:reference_data read:order_data');
    expect((await acme().getList('dyn_item', '', { token })).status).toBe(200);
    expect((await acme().getList('dyn_stock_order', '', { token })).status).toBe(200);
    expect((await acme().postRecord('dyn_item', {}, { token })).status).toBe(403);
  });
});

describe('API clients', () => {
  const client = z.object({ client_id: z.string(), client_secret: z.string() });
  const tokenOf = ({ client_id, client_secret }: z.output<typeof client>, scope?: string) =>
    acme().requestToken({
      grant_type: 'client_credentials',
      client_id,
      client_secret,
      ...(scope === undefined ? {} : { scope }),
    });

  it('§5.1: an admin creates credentials, and they work at once', async () => {
    const made = client.parse(
      await acme().platformData('POST', '/api-clients', { name: 'ERP', scopes: ['read:reference_data'] }),
    );
    expect(issued(await tokenOf(made)).scope).toBe('read:reference_data');
    expectOAuthError(await tokenOf(made, 'write:reference_data'), 400, 'invalid_scope');
  });

  it('§5.1: an admin regenerates a secret; the old one is refused from then on', async () => {
    const made = client.parse(await acme().platformData('POST', '/api-clients', { name: 'ERP' }));
    const renewed = client.parse(await acme().platformData('POST', `/api-clients/${made.client_id}/secret`, {}));
    expect(renewed.client_secret).not.toBe(made.client_secret);
    issued(await tokenOf(renewed));
    expectOAuthError(await tokenOf(made), 401, 'invalid_client');
  });

  it('§5.1: an admin removes a client; its secret and its tokens end with it', async () => {
    const made = client.parse(await acme().platformData('POST', '/api-clients', { name: 'ERP' }));
    const token = issued(await tokenOf(made)).access_token;
    expect((await acme().getList('dyn_item', '', { token })).status).toBe(200);
    expect((await acme().platform('DELETE', `/api-clients/${made.client_id}`)).status).toBe(204);
    expectOAuthError(await tokenOf(made), 401, 'invalid_client');
    expect((await acme().getList('dyn_item', '', { token })).status).toBe(401);
  });

  it('§5.1: it takes the admin role', async () => {
    for (const role of ['validator', 'auditor'] as const) {
      const token = await acme().addPerson(role);
      const { client_id } = acme().client;
      const calls = [
        () => acme().platform('POST', '/api-clients', { body: { name: 'X' }, token }),
        () => acme().platform('POST', `/api-clients/${client_id}/secret`, { body: {}, token }),
        () => acme().platform('DELETE', `/api-clients/${client_id}`, { token }),
      ];
      for (const call of calls) await expectRefused(run.service, 403, call);
    }
    issued(await acme().requestToken(credentials()));
  });

  it('§5.1: the list of clients shows no secret', async () => {
    const answer = await acme().platform('GET', '/api-clients');
    expect(answer.status).toBe(200);
    expect(answer.text).not.toMatch(/secret/i);
    expect(answer.text).not.toContain(acme().client.client_secret);
  });
});
