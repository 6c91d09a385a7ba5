import { LRUCache } from 'lru-cache';
import { TokenBuckets } from '#app/api/admission.js';
import { type Guess, withinGuesses } from '#app/api/rateLimit.js';

const guess: Guess = { kind: 'password', tenant: 'acme', account: 'anna@example.com', network: '192.0.2.1' };

describe('guesses', () => {
  let now = 0;
  let api: Parameters<typeof withinGuesses>[0];
  beforeEach(() => {
    now = 0;
    api = { buckets: new TokenBuckets(() => now), opened: new LRUCache({ max: 1_000 }) };
  });

  /** Seconds that a try has to wait; 0 for one that was made. */
  const attempt = async (outcome: 'right' | 'wrong', more: Partial<Guess> = {}): Promise<number> => {
    try {
      await withinGuesses(api, { ...guess, ...more }, 'Wait.', async () => (outcome === 'right' ? {} : undefined));
      return 0;
    } catch (error) {
      return Number(Object(error).headers['Retry-After']);
    }
  };
  const wrong = async (times: number, more: Partial<Guess> = {}): Promise<void> => {
    for (let n = 0; n < times; n += 1) expect(await attempt('wrong', more)).toBe(0);
  };

  test('ten wrong passwords are free, and ten in an hour; the right one is refused as well while they last', async () => {
    await wrong(10);
    expect(await attempt('right')).toBe(360);
    now += 360_000;
    await wrong(1);
    expect(await attempt('wrong')).toBe(360);
    now += 360_000;
    expect(await attempt('right')).toBe(0);
    await wrong(10);
  });

  test('guesses at once gain nothing, and a check that fails is none', async () => {
    let fail = (): void => undefined;
    const failing = new Promise<undefined>((_, reject) => {
      fail = () => reject(new Error('away'));
    });
    const checks = Array.from({ length: 10 }, () => withinGuesses(api, guess, 'Wait.', () => failing));
    expect(await attempt('right')).toBeGreaterThan(0);
    fail();
    await Promise.allSettled(checks);
    expect(await attempt('right')).toBe(0);
  });
});
