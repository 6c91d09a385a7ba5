import type { AttemptResult } from '#app/domain/webhook/delivery.js';
import { type Endpoint, Gate, type GateLimits } from '#app/webhooks/gate.js';

const LIMITS: GateLimits = { inFlight: 200, slots: 50, slotsPerEndpoint: 20 };
const SUCCEEDED: AttemptResult = { ok: true, status: 200, durationMs: 1, responseBody: '' };
const FAILED: AttemptResult = { ok: false, reason: 'HTTP 500', status: 500, durationMs: 1, responseBody: '' };

let now: number;
let circuits: [string, boolean][];
beforeEach(() => {
  now = 0;
  circuits = [];
});

const gateOf = (limits: Partial<GateLimits> = {}): Gate =>
  new Gate({
    limits: { ...LIMITS, ...limits },
    thresholds: { failures: 3, spanMs: 1000, firstProbeMs: 500, longestProbeMs: 1500 },
    now: () => now,
    random: () => 0,
    onCircuit: (endpoint, isOpen) => circuits.push([endpoint, isOpen]),
  });

/** `a` is a webhook of the tenant acme, `b/a` one of the tenant b. */
const named = (name: string): Endpoint => {
  const [webhookId = '', tenant = 'acme'] = name.split('/').reverse();
  return { tenant, webhookId };
};

const begun = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('slots for attempts', () => {
  /** Requests attempts that last until they are ended. */
  function attempts(gate: Gate, endpoint: string, count: number): { begun: number; end: () => void } {
    const ends: (() => void)[] = [];
    const state = { begun: 0, end: () => ends.shift()?.() };
    for (let i = 0; i < count; i++) {
      void gate.inSlot(named(endpoint), async (isBegun) => {
        state.begun += 1;
        isBegun();
        await new Promise<void>((resolve) => ends.push(resolve));
        return { kind: 'made' };
      });
    }
    return state;
  }

  test('a webhook has at most its number of attempts at once; as one ends the next begins', async () => {
    const calling = attempts(gateOf(), 'a', 30);
    await begun();
    expect(calling.begun).toBe(20);
    calling.end();
    await begun();
    expect(calling.begun).toBe(21);
  });

  test('however many webhooks of a tenant hang, a tenth of the slots is left for others', async () => {
    const gate = gateOf();
    const hanging = Array.from({ length: 100 }, (_, n) => attempts(gate, `slow/${n}`, 100));
    await begun();
    expect(hanging.reduce((sum, each) => sum + each.begun, 0)).toBe(45);
    const others = ['b', 'c'].map((tenant) => attempts(gate, `${tenant}/a`, 100));
    await begun();
    // As many as are free, so that one is left for the next.
    expect(others.map((each) => each.begun)).toEqual([3, 1]);
    const next = attempts(gate, 'd/a', 100);
    await begun();
    expect(next.begun).toBe(1);
  });

  test('when stopped, what waits for a slot gets none, and attempts in flight end', async () => {
    const gate = gateOf({ slotsPerEndpoint: 1 });
    const calling = attempts(gate, 'a', 1);
    const waiting = gate.inSlot(named('a'), async () => ({ kind: 'made' }));
    gate.stop();
    const again = { kind: 'retry', delayMs: 0 };
    expect(await waiting).toEqual(again);
    expect(await gate.inSlot(named('b'), async () => ({ kind: 'made' }))).toEqual(again);
    calling.end();
  });
});

describe('messages in flight', () => {
  test('a webhook that has its share is put off, and so is a second message of a delivery', async () => {
    const gate = gateOf({ inFlight: 10 });
    const never = () => new Promise<never>(() => undefined);
    void gate.enter(named('a'), 'first', 0, never);
    expect(await gate.enter(named('a'), 'first', 0, never)).toEqual({ kind: 'retry', delayMs: 1_000 });
    for (let n = 0; n < 10; n++) void gate.enter(named('a'), String(n), 0, never);
    expect(await gate.enter(named('a'), 'more', 0, never)).toMatchObject({ kind: 'retry' });
    expect(await gate.enter(named('b'), 'other', 0, async () => ({ kind: 'done' }))).toEqual({ kind: 'done' });
  });
});

describe('the circuit of a webhook', () => {
  let gate: Gate;
  beforeEach(() => {
    gate = gateOf();
  });

  const attempt = (result: AttemptResult, endpoint = 'a') =>
    gate.inSlot(named(endpoint), async () => ({ kind: 'made', result }));

  /** How long its messages are put off (ms). */
  async function waitMs(endpoint = 'a'): Promise<number> {
    const outcome = await gate.enter(named(endpoint), 'delivery', 0, async () => ({ kind: 'done' }));
    return outcome.kind === 'retry' ? outcome.delayMs : 0;
  }

  async function open(): Promise<void> {
    for (let n = 0; n < 3; n++) {
      if (n > 0) now += 500;
      await attempt(FAILED);
    }
  }

  test('opens when enough failures in a row span enough time', async () => {
    await open();
    expect(await waitMs()).toBe(500);
    expect(await attempt(SUCCEEDED)).toEqual({ kind: 'retry', delayMs: 500 });
    expect(circuits).toEqual([['acme.a', true]]);
    expect(await waitMs('b')).toBe(0);
  });

  test('half-open, it lets one attempt be made at a time', async () => {
    await open();
    now += 500;
    const probe = gate.inSlot(named('a'), () => new Promise<{ kind: 'made' }>(() => undefined));
    await begun();
    expect(probe).toBeInstanceOf(Promise);
    expect(await attempt(SUCCEEDED)).toMatchObject({ kind: 'retry' });
    expect(await waitMs()).toBeGreaterThan(0);
  });

  test('a probe that succeeds closes it', async () => {
    await open();
    now += 500;
    await attempt(SUCCEEDED);
    expect(await waitMs()).toBe(0);
    expect(circuits.at(-1)).toEqual(['acme.a', false]);
    await attempt(FAILED);
    expect(await waitMs()).toBe(0);
  });

  test('a probe that fails doubles the wait, up to the longest', async () => {
    await open();
    for (const wait of [500, 1000, 1500, 1500]) {
      expect(await waitMs()).toBe(wait);
      now += wait;
      await attempt(FAILED);
    }
    expect(circuits).toEqual([['acme.a', true]]);
  });
});
