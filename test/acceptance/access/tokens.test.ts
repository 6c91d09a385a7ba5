/** Tokens: how one gets them, what is in them, and the false ones (spec §4.10, §5). */
import { execFile } from 'node:child_process';
import { createHmac, createPublicKey, generateKeyPairSync } from 'node:crypto';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { serviceKey } from '../../attacks/serviceKey.js';
import type { Answer } from '../http.js';
import { expectRefused } from '../refusals.js';
import { ASSETS } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });

const GRANT = { grant_type: 'client_credentials' };
const credentials = () => {
  const { client_id, client_secret } = acme().client;
  return { ...GRANT, client_id, client_secret };
};
const basic = (id: string, secret: string, scheme = 'Basic ') => ({
  authorization: `${scheme}${Buffer.from(`${id}:${secret}`).toString('base64')}`,
});
const FORM = 'application/x-www-form-urlencoded';
const form = (raw: string | Buffer, headers: { readonly [name: string]: string } = {}) =>
  acme().send('POST', '/oauth/token', { token: null, raw, headers: { 'content-type': FORM, ...headers } });
const good = () => new URLSearchParams(credentials()).toString();
/** Of a client that is made without naming any. */
const SCOPES = ['read:reference_data', 'write:reference_data', 'read:order_data', 'write:order_data'];

const tokenAnswer = z.strictObject({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  scope: z.string(),
});
function issued(answer: Answer): z.output<typeof tokenAnswer> {
  if (answer.status !== 200) throw new Error(answer.text);
  expect(answer.headers['cache-control']).toBe('no-store');
  return tokenAnswer.parse(answer.body);
}
const publicKey = async () => createPublicKey(await serviceKey(service().dataDir));

describe('a token request', () => {
  it('§5.2, §5.3: with credentials in a JSON body or a form gives a JWT for the scopes asked, and 3600 seconds', async () => {
    const scope = 'read:reference_data';
    for (const answer of [
      await acme().requestToken({ ...credentials(), scope }),
      await form(`${good()}&scope=${scope}`),
    ]) {
      const token = issued(answer);
      expect(token).toMatchObject({ token_type: 'Bearer', expires_in: 3600, scope });
      expect(token.access_token).toMatch(/^[\w-]+\.[\w-]+\.[\w-]+$/);
    }
  });

  /** As RFC 6749 Appendix B encodes it, every character that it lets a client encode included. */
  const encoded = (text: string): string =>
    [...text].map((c) => (/[a-z\d]/i.test(c) ? c : `%${c.charCodeAt(0).toString(16).toUpperCase()}`)).join('');

  it.each<[string, (text: string) => string]>([
    ['as they are', (text) => text],
    ['form-encoded', encoded],
    ['form-encoded in lower case', (text) => encoded(text).replace(/%../g, (code) => code.toLowerCase())],
  ])('§5.2: has the id and the secret %s in Basic, with JSON and as a form', async (_how, encode) => {
    const { client_id, client_secret } = acme().client;
    for (const scheme of ['Basic ', 'basic ', 'BASIC   ']) {
      const headers = basic(encode(client_id), encode(client_secret), scheme);
      issued(await acme().requestToken(GRANT, headers));
      issued(await form('grant_type=client_credentials', headers));
    }
  });

  it.each([{}, { scope: '' }, { scope: ' ' }, { scope: null }, { scope: SCOPES.join('  ') }])(
    'decision: with %j, as libraries send it, is for all scopes of the client, whatever Accept says',
    async (scope) => {
      for (const accept of ['application/json', 'application/xml', '*/*;q=0.1'])
        expect(issued(await acme().requestToken({ ...credentials(), ...scope }, { accept })).scope).toBe(
          SCOPES.join(' '),
        );
    },
  );

  it('§5.3: gives a token that is signed asymmetrically, with the claims of RFC 9068 §2.2', async () => {
    const token = await acme().token();
    expect(jwt.decode(token, { complete: true })?.header).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    const claims = z
      .looseObject({ exp: z.int(), iat: z.int() })
      .parse(jwt.verify(token, await publicKey(), { algorithms: ['ES256'] }));
    expect(claims).toMatchObject({
      iss: 'https://localhost',
      aud: 'https://localhost/api/v1/dynamic-assets',
      sub: acme().client.client_id,
      client_id: acme().client.client_id,
      scope: acme().client.scopes.join(' '),
      tenant: acme().name,
      jti: expect.any(String),
    });
    expect(claims.exp - claims.iat).toBe(3600);
  });

  type Refused = readonly [what: string, status: number, code: string, ask: () => Promise<Answer>];
  const json = (changes: object) => () => acme().requestToken({ ...credentials(), ...changes });
  const raw =
    (text: string, type = 'application/json') =>
    () =>
      form(text, { 'content-type': type });
  const refused: readonly Refused[] = [
    ['a wrong secret', 401, 'invalid_client', json({ client_secret: 'wrong' })],
    ['an unknown client', 401, 'invalid_client', json({ client_id: 'nobody' })],
    ["another tenant's client", 401, 'invalid_client', () => tenant('hauler').requestToken(credentials())],
    ['no credentials', 401, 'invalid_client', () => acme().requestToken(GRANT)],
    ['malformed Basic', 401, 'invalid_client', () => acme().requestToken(GRANT, { authorization: 'Basic %%%' })],
    ['Bearer instead of Basic', 401, 'invalid_client', () => acme().requestToken(GRANT, { authorization: 'Bearer x' })],
    ...['%zz', 'a+b'].map((secret): Refused => {
      const ask = () => acme().requestToken(GRANT, basic(acme().client.client_id, secret));
      return [`the secret ${JSON.stringify(secret)} in Basic`, 401, 'invalid_client', ask];
    }),
    [
      'credentials in the body and by Basic',
      400,
      'invalid_request',
      () => acme().requestToken(credentials(), basic('a', 'b')),
    ],
    ['no grant type', 400, 'invalid_request', json({ grant_type: undefined })],
    ['another grant type', 400, 'unsupported_grant_type', json({ grant_type: 'password' })],
    ['an unknown scope', 400, 'invalid_scope', json({ scope: 'admin' })],
    ['a secret that is an object', 400, 'invalid_request', json({ client_secret: { $ne: '' } })],
    ['a body that is no JSON', 400, 'invalid_request', raw('{')],
    ['another content type', 415, 'invalid_request', raw('<a/>', 'text/xml')],
    ['a parameter twice', 400, 'invalid_request', () => form(`${good()}&scope=a&scope=a`)],
  ];
  it.each(refused)('§5.2: refuses %s with %i %s, as RFC 6749 §5.2 says', async (_what, status, code, ask) => {
    const before = await service().logHead();
    const answer = await ask();
    expect(answer.status).toBe(status);
    expect(answer.body).toEqual({ error: code, error_description: expect.any(String), message: expect.any(String) });
    expect(answer.headers['cache-control']).toBe('no-store');
    // Browsers take a challenge of Basic for a dialog of their own, so it is for those who used the header.
    const isByHeader = /Basic$|instead of Basic|malformed Basic/.test(_what) && status === 401;
    expect(answer.headers['www-authenticate'] !== undefined).toBe(isByHeader);
    expect(await service().logHead()).toBe(before);
  });
});

describe('OAuth clients find the token endpoint by the host alone', () => {
  it.each([
    ['acme', '', undefined],
    ['hauler', '.', 'read:order_data'],
  ])(
    'the package openid-client gets tokens of %s in each way that is offered, and asks the API',
    async (name, dot, scope) => {
      const { host, client } = tenant(name);
      const issuer = `http://${host.replace(':', `${dot}:`)}`;
      const given = JSON.stringify({ issuer, clientId: client.client_id, clientSecret: client.client_secret, scope });
      const script = resolve(__dirname, 'openidClient.mjs');
      const { stdout } = await promisify(execFile)(process.execPath, [script, given]);
      const tables = expect.any(Number);
      const got = { found: `${issuer}/oauth/token`, token_type: 'bearer', expires_in: 3600, status: 200, tables };
      expect(JSON.parse(stdout)).toEqual({ client_secret_post: got, client_secret_basic: got, default: got });
    },
  );

  it('the metadata name the origin as the client has written it (RFC 8414 §2, §3.3; RFC 9728 §2), or as a trusted proxy says', async () => {
    const ask = async (path: string, headers: { readonly [name: string]: string } = {}) =>
      (await acme().send('GET', `/.well-known/${path}`, { token: null, headers })).body;
    const { host, name } = acme();
    expect(await ask('oauth-authorization-server')).toEqual({
      scopes_supported: [...SCOPES, 'read:audit'],
      issuer: `http://${host}`,
      token_endpoint: `http://${host}/oauth/token`,
      response_types_supported: [],
      grant_types_supported: ['client_credentials'],
      token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
      service_documentation: `http://${host}/docs`,
    });
    const outside = { host: 'inside:3000', 'x-forwarded-host': `${name}.localhost`, 'x-forwarded-proto': 'https' };
    expect(await ask('oauth-authorization-server', outside)).toMatchObject({ issuer: `https://${name}.localhost` });
  });
});

describe('a token', () => {
  type Changes = { readonly [name: string]: unknown };
  const now = () => Math.floor(Date.now() / 1000);
  const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

  /** A good one. */
  async function parts() {
    const token = await acme().token();
    const [header = '', payload = '', signature = ''] = token.split('.');
    const kid = jwt.decode(token, { complete: true })?.header.kid ?? '';
    return { token, header, payload, signature, kid, claims: z.looseObject({}).parse(jwt.decode(token)) };
  }
  /** A good one with another header. */
  const headed = async (header: object, sign: (head: string, payload: string) => string | Promise<string>) => {
    const { payload, kid } = await parts();
    const head = base64url({ typ: 'at+jwt', kid, ...header });
    return `${head}.${payload}.${await sign(head, payload)}`;
  };
  /** Signed with the service's own key, as an attacker never has it, and false in some claims; `undefined` takes one away. */
  async function signed(changes: Changes, header: Changes = {}, key?: string): Promise<string> {
    const { claims, kid } = await parts();
    const changed = Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined);
    const head = { alg: 'ES256' as const, typ: 'at+jwt', kid, ...header };
    const options = { algorithm: head.alg, header: head, noTimestamp: true };
    return jwt.sign(Object.fromEntries(changed), key ?? (await serviceKey(service().dataDir)), options);
  }
  const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const strangersKey = String(stranger.privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const publicPem = async (): Promise<string> => (await publicKey()).export({ type: 'spki', format: 'pem' }).toString();

  it.each<[string, () => Promise<string>]>([
    ['alg none without a signature', () => headed({ alg: 'none', kid: undefined }, () => '')],
    ['alg none with the kid of the key', () => headed({ alg: 'none' }, () => '')],
    [
      'HS256 signed with the public key',
      () =>
        headed({ alg: 'HS256' }, async (head, payload) =>
          createHmac('sha256', await publicPem())
            .update(`${head}.${payload}`)
            .digest('base64url'),
        ),
    ],
    [
      'an altered payload under the old signature',
      async () => {
        const { header, claims, signature } = await parts();
        return `${header}.${base64url({ ...claims, exp: now() + 999_999 })}.${signature}`;
      },
    ],
    ['a key of somebody else, with our kid', () => signed({}, {}, strangersKey)],
    [
      'a key that it brings along',
      () => signed({}, { kid: 'mine', jwk: stranger.publicKey.export({ format: 'jwk' }) }, strangersKey),
    ],
    ['a time that is over (§5.5)', () => signed({ iat: now() - 3700, exp: now() - 100 })],
    ['another audience', () => signed({ aud: 'https://elsewhere.example/api' })],
    ['another issuer', () => signed({ iss: 'https://elsewhere.example' })],
    ['a client that does not exist', () => signed({ client_id: 'nobody', sub: 'nobody' })],
    ['another tenant, to which it is bound (decision)', () => tenant('hauler').token()],
    ["a person's session", () => acme().signIn()],
    ['plain nonsense', async () => 'abc'],
  ])('§5.4: with %s is 401 on a read and on a write', async (_what, make) => {
    const token = await make();
    const read = await expectRefused(service(), 401, () => acme().getList('dyn_item', '', { token }));
    expect(read.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
    const item = { external_id: 'X', name: 'X' };
    await expectRefused(service(), 401, () => acme().postRecord('dyn_item', item, { token }));
  });

  it('§5.4: is not taken from the query; the scheme is matched in any case, with several spaces (RFC 9110 §11.1)', async () => {
    const token = await acme().token();
    await expectRefused(service(), 401, () => acme().getList('dyn_item', { access_token: token }, { token: null }));
    for (const authorization of [`bearer  ${token}`, `BEARER    ${token} `])
      expect((await acme().send('GET', ASSETS, { token: null, headers: { authorization } })).status).toBe(200);
  });
});
