/** Missing and false tokens (spec §5.4): 401, always. */
import { createHmac, generateKeyPairSync } from 'node:crypto';
import jwt from 'jsonwebtoken';
import { z } from 'zod';
import { expectRefused } from '../refusals.js';
import { useService } from '../useService.js';

const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Header and claims of a good token. */
async function goodToken() {
  const token = await acme().token();
  const [header = '', payload = '', signature = ''] = token.split('.');
  const claims = z.looseObject({ exp: z.number(), iat: z.number() }).parse(jwt.decode(token));
  const kid = z.object({ kid: z.string() }).parse(JSON.parse(Buffer.from(header, 'base64url').toString())).kid;
  return { token, header, payload, signature, claims, kid };
}

const now = () => Math.floor(Date.now() / 1000);

const publicPem = async (): Promise<string> => {
  const answer = await acme().send('GET', '/.well-known/jwks.json', { token: null });
  const { keys } = z.object({ keys: z.array(z.looseObject({})) }).parse(answer.body);
  const { createPublicKey } = await import('node:crypto');
  return createPublicKey({ key: keys[0] ?? {}, format: 'jwk' })
    .export({ type: 'spki', format: 'pem' })
    .toString();
};

function hs256(header: string, payload: string, secret: string): string {
  return `${header}.${payload}.${createHmac('sha256', secret).update(`${header}.${payload}`).digest('base64url')}`;
}

const falseTokens: readonly (readonly [string, () => Promise<string>])[] = [
  [
    'alg none without a signature',
    async () => `${base64url({ alg: 'none', typ: 'at+jwt' })}.${(await goodToken()).payload}.`,
  ],
  [
    'alg none with the kid of the key',
    async () => {
      const { payload, kid } = await goodToken();
      return `${base64url({ alg: 'none', typ: 'at+jwt', kid })}.${payload}.`;
    },
  ],
  [
    'alg nOnE with the old signature',
    async () => {
      const { payload, kid, signature } = await goodToken();
      return `${base64url({ alg: 'nOnE', typ: 'at+jwt', kid })}.${payload}.${signature}`;
    },
  ],
  [
    'HS256 signed with the public key',
    async () => {
      const { payload, kid } = await goodToken();
      return hs256(base64url({ alg: 'HS256', typ: 'at+jwt', kid }), payload, await publicPem());
    },
  ],
  [
    'an altered signature',
    async () => {
      const { header, payload, signature } = await goodToken();
      const first = signature.startsWith('A') ? 'B' : 'A';
      return `${header}.${payload}.${first}${signature.slice(1)}`;
    },
  ],
  ['a cut signature', async () => (await goodToken()).token.slice(0, -4)],
  [
    'an altered payload under the old signature',
    async () => {
      const { header, claims, signature } = await goodToken();
      return `${header}.${base64url({ ...claims, exp: now() + 999_999 })}.${signature}`;
    },
  ],
  [
    'a key of somebody else, with our kid',
    async () => {
      const { claims, kid } = await goodToken();
      const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      return jwt.sign(claims, privateKey, { algorithm: 'ES256', header: { alg: 'ES256', typ: 'at+jwt', kid } });
    },
  ],
  [
    'a key that the token brings along',
    async () => {
      const { claims } = await goodToken();
      const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const header = { alg: 'ES256', typ: 'at+jwt', kid: 'mine', jwk: publicKey.export({ format: 'jwk' }) };
      return jwt.sign(claims, privateKey, { algorithm: 'ES256', header });
    },
  ],
  ['another tenant', () => run.tenant('hauler').token()],
  ["a person's session on the asset API", () => acme().signIn()],
  ['plain nonsense', async () => 'abc'],
  ['three dots', async () => '...'],
  ['a header that is no JSON', async () => 'YWJj.YWJj.YWJj'],
  ['ten thousand characters', async () => `a.${'b'.repeat(10_000)}.c`],
];

it.each(falseTokens)('§5: a token with %s is 401 on a read and on a write', async (_what, make) => {
  const token = await make();
  const read = await expectRefused(run.service, 401, () => acme().getList('dyn_item', '', { token }));
  expect(read.headers['www-authenticate']).toMatch(/^Bearer .*error="invalid_token"/);
  await expectRefused(run.service, 401, () =>
    acme().postRecord('dyn_item', { external_id: 'X', name: 'X' }, { token }),
  );
});

it('§5.4: without a token every endpoint is 401', async () => {
  const id = '01a1feb1-9a64-76fa-95fa-131ef9230738';
  const calls = [
    () => acme().info('dyn_item', { token: null }),
    () => acme().getList('dyn_item', '', { token: null }),
    () => acme().getRecord('dyn_item', id, { token: null }),
    () => acme().postRecord('dyn_item', { external_id: 'X', name: 'X' }, { token: null }),
    () => acme().putRecord('dyn_item', id, {}, { token: null }),
    () => acme().postBatch('dyn_item', { items: [] }, { token: null }),
    () => acme().postCleanUp('dyn_item', { batch_id: 'x' }, { token: null }),
    () => acme().send('GET', '/api/v1/dynamic-assets/dyn', { token: null }),
    () => acme().send('GET', '/api/v1/dynamic-assets/dyn/dyn_unknown/assets', { token: null }),
  ];
  for (const call of calls) {
    const answer = await expectRefused(run.service, 401, call);
    // RFC 6750 §3.1: a request that brings no token is told of no error.
    expect(answer.headers['www-authenticate']).toBe('Bearer realm="dynamic-assets"');
    expect(answer.body).toEqual({ message: 'Unauthenticated.', error: expect.any(String) });
  }
});

it.each([
  ['Basic instead of Bearer', 'Basic YWJjOmRlZg==', 'Bearer realm="dynamic-assets"'],
  ['an empty Bearer', 'Bearer', 'Bearer realm="dynamic-assets"'],
  ['two tokens', 'Bearer a b', expect.stringMatching(/^Bearer /)],
])('§5.4: an Authorization header with %s is 401', async (_what, authorization, challenge) => {
  const answer = await expectRefused(run.service, 401, () =>
    acme().getList('dyn_item', '', { token: null, headers: { authorization } }),
  );
  expect(answer.headers['www-authenticate']).toEqual(challenge);
});

it('§5.4: a token in the query string is not taken', async () => {
  const query = { access_token: await acme().token() };
  await expectRefused(run.service, 401, () => acme().getList('dyn_item', query, { token: null }));
});

it('§5.4: the scheme is matched without regard to case (RFC 9110 §11.1)', async () => {
  const headers = { authorization: `bearer ${await acme().token()}` };
  expect((await acme().getList('dyn_item', '', { token: null, headers })).status).toBe(200);
});

it('§5.3, §5.5: the claims of a token say the same validity as expires_in', async () => {
  const { claims } = await goodToken();
  expect(claims.exp - claims.iat).toBe(3600);
});

it('§5: tokens stay valid over a restart of the service', async () => {
  const token = await acme().token();
  await run.service.restart();
  expect((await acme().getList('dyn_item', '', { token })).status).toBe(200);
});
