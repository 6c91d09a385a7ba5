import { CircuitBreakers, type CircuitThresholds } from '#app/webhooks/circuitBreaker.js';

const thresholds: CircuitThresholds = { failures: 3, spanMs: 1000, firstProbeMs: 500, longestProbeMs: 1500 };

describe('the circuit of a webhook', () => {
  let now: number;
  let changes: [string, boolean][];
  let circuits: CircuitBreakers;

  beforeEach(() => {
    now = 0;
    changes = [];
    circuits = new CircuitBreakers(
      thresholds,
      () => now,
      (endpoint, isOpen) => changes.push([endpoint, isOpen]),
    );
  });

  const attempt = (outcome: 'succeeded' | 'failed' | 'unused', endpoint = 'a'): void => {
    const permit = circuits.permit(endpoint);
    if (permit === undefined) throw new Error('no permit');
    permit(outcome);
  };

  function open(): void {
    attempt('failed');
    now += 500;
    attempt('failed');
    now += 500;
    attempt('failed');
  }

  test('opens when enough failures in a row span enough time', () => {
    open();
    expect(circuits.waitMs('a')).toBe(500);
    expect(circuits.permit('a')).toBeUndefined();
    expect(changes).toEqual([['a', true]]);
    expect(circuits.waitMs('b')).toBe(0);
  });

  test('half-open, it lets one attempt be made at a time', () => {
    open();
    now += 500;
    const probe = circuits.permit('a');
    expect(probe).toBeDefined();
    expect(circuits.permit('a')).toBeUndefined();
    expect(circuits.waitMs('a')).toBeGreaterThan(0);
  });

  test('a probe that succeeds closes it', () => {
    open();
    now += 500;
    attempt('succeeded');
    expect(circuits.waitMs('a')).toBe(0);
    expect(changes.at(-1)).toEqual(['a', false]);
    attempt('failed');
    expect(circuits.waitMs('a')).toBe(0);
  });

  test('a probe that fails doubles the wait, up to the longest', () => {
    open();
    for (const wait of [500, 1000, 1500, 1500]) {
      expect(circuits.waitMs('a')).toBe(wait);
      now += wait;
      attempt('failed');
    }
    expect(changes).toEqual([['a', true]]);
  });
});
