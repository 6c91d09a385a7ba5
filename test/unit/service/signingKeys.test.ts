/** What a start does about keys. */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSecretBox, OtherSecretsKeyError, openKeys, operatorsBox } from '#app/service/keys.js';
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

function start(machine: string, byte = 0) {
  const directory = { waitFor: async () => undefined };
  return openKeys(configOf(machine, byte), { ...log.access, directory });
}

const pathsOf = (machine: string): Promise<string[]> => readdir(join(machines, machine, 'keys')).catch(() => []);

test('without any setting a key is made, sealed under the one in the data directory, and the next start changes nothing', async () => {
  await start('one');
  await start('one');
  expect(await pathsOf('one')).toEqual(['secrets.key']);
  expect(log.stored()).toHaveLength(1);
  const secret = Buffer.from(await readFile(join(machines, 'one', 'keys', 'secrets.key'), 'utf8'), 'base64');
  expect(createSecretBox(secret).open(log.stored()[0]?.sealedKey ?? '')).toContain('PRIVATE KEY');
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
