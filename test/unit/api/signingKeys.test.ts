import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SigningKeys } from '#app/api/auth/signingKeys.js';
import { InvalidTokenError, TokenService } from '#app/api/auth/tokens.js';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'dynamic-assets-keys-'));
});
afterEach(() => rm(directory, { recursive: true }));

const service = (keys: SigningKeys, ttl = 60) =>
  new TokenService(keys, { issuer: 'https://localhost', tokenTtlSeconds: ttl, sessionTtlSeconds: ttl });

test('of many that start at once on an empty directory, all sign with one key that only the owner can read', async () => {
  const keys = join(directory, 'keys');
  const opened = await Promise.all(Array.from({ length: 8 }, () => SigningKeys.open(keys)));
  expect(new Set(opened.map((one) => one.current.kid)).size).toBe(1);
  expect(await readdir(keys)).toEqual(['signing-0001.pem']);
  expect((await stat(join(keys, 'signing-0001.pem'))).mode & 0o777).toBe(0o600);
});

test('a token signed with a key that came later is good as soon as the key is there', async () => {
  const before = service(await SigningKeys.open(directory));
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  await writeFile(join(directory, 'signing-0002.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }));
  const after = service(await SigningKeys.open(directory));
  const { token } = after.issueClientToken('acme', 'c', 'credential', ['read:order_data']);
  expect(await before.clientOf(token)).toMatchObject({ tenant: 'acme', clientId: 'c' });
  expect(before.jwks().keys).toHaveLength(2);
});

test("a user's token is no client's token, and the other way round", async () => {
  const tokens = service(await SigningKeys.open(directory));
  const user = tokens.issueUserToken('acme', 7, 'x').token;
  const client = tokens.issueClientToken('acme', 'c', 'credential', []).token;
  expect(await tokens.userOf(user)).toMatchObject({ tenant: 'acme', userId: 7, credential: 'x' });
  await expect(tokens.clientOf(user)).rejects.toThrow(InvalidTokenError);
  await expect(tokens.userOf(client)).rejects.toThrow(InvalidTokenError);
});

test('a token ends with its time, also one that was found good before', async () => {
  const tokens = service(await SigningKeys.open(directory), 60);
  const { token } = tokens.issueClientToken('acme', 'c', 'credential', []);
  await tokens.clientOf(token);
  jest.useFakeTimers({ now: Date.now() + 61_000, doNotFake: ['nextTick', 'setImmediate'] });
  try {
    await expect(tokens.clientOf(token)).rejects.toThrow('The token has expired.');
  } finally {
    jest.useRealTimers();
  }
});

test('a key file of another kind stops the start with its name', async () => {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  await writeFile(join(directory, 'signing-0001.pem'), privateKey.export({ format: 'pem', type: 'pkcs8' }));
  await expect(SigningKeys.open(directory)).rejects.toThrow('signing-0001.pem');
});
