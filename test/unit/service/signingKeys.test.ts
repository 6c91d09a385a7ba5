/** What a start does about keys, on data directories of this release and of earlier ones. */
import { generateKeyPairSync } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { signingKeyFrom } from '#app/commands/identity/signingKeys.js';
import type { Tenant } from '#app/domain/identity/directory.js';
import { signerOf } from '#app/domain/identity/signingKeys.js';
import { createSecretBox } from '#app/service/secretBox.js';
import { OtherSecretsKeyError, openKeys, operatorsBox } from '#app/service/signingKeys.js';
import { keyOf, SigningKeyLog } from '../signingKeyLog.js';

let log: SigningKeyLog;
let machines: string;
beforeEach(async () => {
  log = new SigningKeyLog();
  machines = await mkdtemp(join(tmpdir(), 'keys-'));
});
afterEach(() => rm(machines, { recursive: true, force: true }));

/** @param byte of SECRETS_KEY; 0: unset */
const configOf = (machine: string, byte: number) => ({
  DATA_DIR: join(machines, machine),
  SECRETS_KEY: byte === 0 ? undefined : [keyOf(byte)],
});

function start(machine: string, byte = 0, tenants: readonly Tenant[] = []) {
  const directory = { tenants: () => tenants, waitFor: async () => undefined, signingKeys: log.stored() };
  return openKeys(configOf(machine, byte), { ...log.access, directory });
}

const pathsOf = (machine: string): Promise<string[]> => readdir(join(machines, machine, 'keys')).catch(() => []);

/** A key as earlier releases have made it. */
async function keepKey(machine: string, name: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
  await mkdir(join(machines, machine, 'keys'), { recursive: true });
  await writeFile(join(machines, machine, 'keys', name), pem);
  return signingKeyFrom(pem)?.kid ?? '';
}

const kids = () => log.stored().map(({ kid }) => kid);

test('without any setting a key is made, sealed under the one in the data directory, and the next start changes nothing', async () => {
  await start('one');
  await start('one');
  expect(await pathsOf('one')).toEqual(['secrets.key']);
  expect(log.stored()).toHaveLength(1);
  const secret = Buffer.from(await readFile(join(machines, 'one', 'keys', 'secrets.key'), 'utf8'), 'base64');
  expect(createSecretBox(secret).open(log.stored()[0]?.sealedKey ?? '')).toContain('PRIVATE KEY');
});

test('keys of an earlier release move into the log: the last file signs, the others verify', async () => {
  const first = await keepKey('one', 'signing-0001.pem');
  const second = await keepKey('one', 'signing-0002.pem');
  await start('one', 1);
  expect(kids()).toEqual([first, second]);
  expect(signerOf(log.stored())?.kid).toBe(second);
  expect(await pathsOf('one')).toEqual([]);
});

test('a key file that holds no such key ends the start with its name', async () => {
  await keepKey('one', 'signing-0001.pem');
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' });
  await writeFile(
    join(machines, 'one', 'keys', 'signing-0002.pem'),
    privateKey.export({ format: 'pem', type: 'pkcs8' }),
  );
  await expect(start('one', 1)).rejects.toThrow('signing-0002.pem');
  expect(log.stored()).toEqual([]);
});

test.each([
  ['with another SECRETS_KEY', 2],
  ['without any', 0],
])('a second machine %s is refused, changes nothing and makes no key', async (_, byte) => {
  await start('one', 1);
  const before = log.stored();
  await keepKey('two', 'signing-0001.pem');
  await expect(start('two', byte)).rejects.toThrow(OtherSecretsKeyError);
  expect(log.stored()).toEqual(before);
  expect(await pathsOf('two')).toEqual(['signing-0001.pem']);
});

test('the command line seals nothing under another key than that of the log', async () => {
  await start('one', 1);
  const sealed = createSecretBox(keyOf(1)).seal('whsec_a');
  const right = await operatorsBox(configOf('two', 1), log.access);
  expect(right.open(right.seal('whsec_b'))).toBe('whsec_b');
  for (const byte of [0, 2]) {
    const box = await operatorsBox(configOf('two', byte), log.access);
    expect(() => box.seal('whsec_b')).toThrow(OtherSecretsKeyError);
    expect(() => box.open(sealed)).toThrow('sealed under another key');
  }
  expect(await pathsOf('two')).toEqual([]);
});
