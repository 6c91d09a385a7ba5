/** The keys of webhook secrets: the first seals, all of them open. */
import { randomBytes } from 'node:crypto';
import { UnopenableSecretError } from '#app/commands/context.js';
import { ConfigError, readConfig } from '#app/config.js';
import { createSecretBox } from '#app/service/keys.js';

const one = Buffer.alloc(32, 1);
const two = Buffer.alloc(32, 2);
const three = Buffer.alloc(32, 3);
const text = (...keys: readonly Buffer[]): string => keys.map((key) => key.toString('base64')).join(',');

test('none of several keys opens what was sealed under another, was changed or cut, or was never sealed', () => {
  const box = createSecretBox(one, two);
  const sealed = createSecretBox(two).seal('whsec_secret');
  expect(box.open(sealed)).toBe('whsec_secret');
  const changed = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
  for (const wrong of [createSecretBox(three).seal('whsec_secret'), changed, sealed.slice(0, 20), 'v1.', 'plain']) {
    expect(() => box.open(wrong)).toThrow(UnopenableSecretError);
    expect(() => box.reseal(wrong)).toThrow(UnopenableSecretError);
  }
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
