import { SignInAttempts } from '#app/api/platform/signInAttempts.js';

const MINUTE = 60_000;
const attempt = { tenant: 'acme', address: '192.0.2.1', email: 'anna@example.com' };

describe('sign-in attempts', () => {
  let now = 0;
  let attempts = new SignInAttempts(() => now);

  beforeEach(() => {
    now = 0;
    attempts = new SignInAttempts(() => now);
  });

  const fail = (times: number, more: object = {}): readonly (number | undefined)[] =>
    Array.from({ length: times }, () => attempts.begin({ ...attempt, ...more }));

  test('the eleventh within 15 minutes waits for the end of them, however the address is written', () => {
    fail(10);
    now = 5 * MINUTE;
    expect(fail(1, { email: 'ANNA@example.com' })).toEqual([10 * 60]);
    now = 15 * MINUTE;
    expect(fail(1)).toEqual([undefined]);
  });

  test('another address, another tenant and another person are not held up', () => {
    fail(10);
    expect(fail(1, { email: 'vera@example.com' })).toEqual([undefined]);
    expect(fail(1, { tenant: 'other' })).toEqual([undefined]);
    expect(fail(1, { address: '192.0.2.2' })).toEqual([undefined]);
  });

  test('success forgets the failures before it', () => {
    fail(9);
    expect(attempts.begin(attempt)).toBeUndefined();
    attempts.succeeded(attempt);
    expect(fail(10)).toEqual(Array(10).fill(undefined));
  });

  test('one network address has 100 failures for all people together', () => {
    for (let person = 0; person < 100; person++)
      expect(fail(1, { email: `user${person}@example.com` })).toEqual([undefined]);
    expect(fail(1, { email: 'one-more@example.com' })).toEqual([15 * 60]);
    expect(fail(1, { address: '192.0.2.2' })).toEqual([undefined]);
  });
});
