/** The keys of webhook secrets: the first seals, all of them open. */
import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { UnopenableSecretError } from '#app/commands/context.js';
import { ConfigError, readConfig } from '#app/config.js';
import { createSecretBox, installationKeys } from '#app/service/secretBox.js';

const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);
const three = Buffer.alloc(32, 3);
const text = (...keys: readonly Buffer[]): string => keys.map((key) => key.toString('base64')).join(',');

describe('secret box of several keys', () => {
  const box = createSecretBox(one, two);

  test('the first seals', () => {
    const sealed = box.seal('whsec_żółć');
    expect(createSecretBox(one).open(sealed)).toBe('whsec_żółć');
    expect(() => createSecretBox(two).open(sealed)).toThrow(UnopenableSecretError);
  });

  test('none opens what was sealed under another, or was changed', () => {
    expect(() => box.open(createSecretBox(three).seal('whsec_secret'))).toThrow('it was sealed under another key');
    const sealed = createSecretBox(two).seal('whsec_secret');
    const changed = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(() => box.open(changed)).toThrow(UnopenableSecretError);
  });

  test('sealed anew is what the first key does not open', () => {
    expect(box.reseal(box.seal('whsec_secret'))).toBeUndefined();
    const resealed = box.reseal(createSecretBox(two).seal('whsec_secret'));
    expect(createSecretBox(one).open(resealed ?? '')).toBe('whsec_secret');
    expect(() => box.reseal(createSecretBox(three).seal('whsec_secret'))).toThrow(UnopenableSecretError);
    expect(() => box.reseal('plain')).toThrow(UnopenableSecretError);
  });
});

describe('SECRETS_KEY', () => {
  test.each([
    ['one key', text(one), [one]],
    ['several, the first first', text(two, one), [two, one]],
    ['spaces around them', ` ${text(two)} , ${text(one)} `, [two, one]],
    ['the same twice', text(one, one), [one, one]],
    ['empty, as if unset', '', undefined],
  ])('%s', (_, SECRETS_KEY, keys) => {
    expect(readConfig({ SECRETS_KEY }).SECRETS_KEY).toEqual(keys);
  });

  test.each([
    ['no key', ','],
    ['one too short', `${text(one)},${randomBytes(31).toString('base64')}`],
    ['one too long', `${randomBytes(33).toString('base64')},${text(one)}`],
    ['no base64', `${text(one)},${'-'.repeat(43)}=`],
    ['a semicolon between them', text(one, two).replace(',', ';')],
  ])('%s: refused, and no key is shown', (_, SECRETS_KEY) => {
    expect(() => readConfig({ SECRETS_KEY })).toThrow(
      new ConfigError(
        'SECRETS_KEY must be 32 bytes in base64, or several such keys with commas between them (it is not shown)',
      ),
    );
  });
});

describe('keys of an installation', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'keys-'));
  });
  afterEach(() => rm(directory, { recursive: true, force: true }));

  const keysWith = (SECRETS_KEY?: string) => installationKeys(readConfig({ DATA_DIR: directory, SECRETS_KEY }));
  const file = () => join(directory, 'keys', 'secrets.key');

  test('without SECRETS_KEY: one is made, and kept', async () => {
    const made = await keysWith();
    expect(made).toHaveLength(1);
    expect(await readFile(file(), 'utf8')).toBe(Buffer.from(made[0]).toString('base64'));
    expect(await keysWith()).toEqual(made);
  });

  test('with SECRETS_KEY: none is made', async () => {
    expect(await keysWith(text(two, one))).toEqual([two, one]);
    expect(await readdir(directory)).toEqual([]);
  });

  test('from the file to SECRETS_KEY: the one in the file opens too, behind the others', async () => {
    const [kept] = await keysWith();
    expect(await keysWith(text(two, one))).toEqual([two, one, kept]);
  });

  test('a file that holds no key is told by its name', async () => {
    await mkdir(join(directory, 'keys'));
    await writeFile(file(), 'AAAA');
    await expect(keysWith()).rejects.toThrow(`${file()} must hold a key of 32 bytes`);
    await expect(keysWith(text(one))).rejects.toThrow(file());
  });
});
