import { randomBytes } from 'node:crypto';
import { retryAfterMs } from '#app/webhooks/retryAfter.js';
import { createSecretBox } from '#app/webhooks/secretBox.js';
import { signatureOf } from '#app/webhooks/signature.js';

describe('Signature (spec §6.3)', () => {
  test('is the test vector of RFC 4231 §4.3 (HMAC-SHA-256, key "Jefe")', () => {
    expect(signatureOf(Buffer.from('what do ya want for nothing?'), 'Jefe')).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    );
  });

  test('takes the secret as it was shown, and the body as bytes', () => {
    // printf '{"validated_order":{"notes":"żółć"},"custom_data":{}}' | openssl dgst -sha256 -hmac 'whsec_c2VjcmV0'
    const body = Buffer.from('{"validated_order":{"notes":"żółć"},"custom_data":{}}');
    expect(signatureOf(body, 'whsec_c2VjcmV0')).toBe(
      '241adb611757bf98a8f3b94781a3ce40ea556f25f25d75fcbd16db0116ce7375',
    );
  });
});

describe('secret box', () => {
  const box = createSecretBox(randomBytes(32));

  test('opens what it sealed, and never seals the same way twice', () => {
    const sealed = box.seal('whsec_żółć');
    expect(sealed).not.toContain('whsec');
    expect(box.seal('whsec_żółć')).not.toBe(sealed);
    expect(box.open(sealed)).toBe('whsec_żółć');
    expect(box.open(box.seal(''))).toBe('');
  });

  test('refuses another key, a change, a cut, and what it never made', () => {
    const sealed = box.seal('whsec_secret');
    const changed = sealed.slice(0, -2) + (sealed.endsWith('AA') ? 'BB' : 'AA');
    expect(() => createSecretBox(randomBytes(32)).open(sealed)).toThrow('another key');
    expect(() => box.open(changed)).toThrow('another key');
    expect(() => box.open(sealed.slice(0, 20))).toThrow('another key');
    expect(() => box.open('v1.')).toThrow('another key');
    expect(() => box.open('plain')).toThrow('unknown form');
    expect(() => createSecretBox(randomBytes(16))).toThrow('32 bytes');
  });
});

describe('Retry-After (RFC 9110 §10.2.3)', () => {
  const now = Date.parse('2026-11-21T12:00:00Z');
  test.each([
    [undefined, undefined],
    ['', undefined],
    ['soon', undefined],
    ['0', 0],
    ['120', 120_000],
    ['Sat, 21 Nov 2026 12:01:00 GMT', 60_000],
    ['Sat, 21 Nov 2026 11:00:00 GMT', 0],
  ])('%s is %s ms', (header, wait) => expect(retryAfterMs(header, now)).toBe(wait));
});
