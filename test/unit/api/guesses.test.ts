import { type Guess, Guesses } from '#app/api/auth/guesses.js';

const guess: Guess = { kind: 'password', tenant: 'acme', account: 'anna@example.com', network: '192.0.2.1' };
const network = (n: number): Partial<Guess> => ({ network: `198.51.100.${n}` });

describe('guesses', () => {
  let now = 0;
  let guesses = new Guesses(() => now);
  beforeEach(() => {
    now = 0;
    guesses = new Guesses(() => now);
  });

  /** Seconds that a try has to wait; made and ended where it has not. */
  function attempt(outcome: 'right' | 'wrong' | 'undecided', more: Partial<Guess> = {}): number {
    const { secondsToWait, end } = guesses.begin({ ...guess, ...more });
    end(outcome);
    return secondsToWait;
  }
  const wrong = (times: number, more: Partial<Guess> = {}): readonly number[] =>
    Array.from({ length: times }, () => attempt('wrong', more));

  test('ten wrong passwords are free; then each try waits twice as long as the one before, up to 15 minutes', () => {
    expect(wrong(10)).toEqual(Array(10).fill(0));
    for (const seconds of [15, 30, 60, 120, 240, 480, 900, 900]) {
      expect(attempt('wrong')).toBe(seconds);
      now += seconds * 1000 - 1;
      expect(attempt('right')).toBe(1);
      now += 1;
      expect(attempt('wrong')).toBe(0);
    }
  });

  test('guesses from everywhere hold up those from new networks, not the owner in his own, nor his neighbours', () => {
    expect(attempt('right')).toBe(0);
    for (let n = 1; n <= 15; n += 1) wrong(10, network(n));
    expect(attempt('wrong', network(200))).toBeGreaterThan(0);
    expect(attempt('right')).toBe(0);
    for (let n = 0; n < 100; n += 1) attempt('wrong', { account: `user${n}@example.com` });
    expect(attempt('wrong', { account: 'somebody@example.com' })).toBeGreaterThan(0);
    expect(attempt('right')).toBe(0);
  });
});
