import type { AttemptResult } from '#app/domain/webhook/delivery.js';
import { type Endpoint, Gate, type GateParts, type Pass } from '#app/webhooks/gate.js';

const LIMITS = { inFlight: 200, slots: 50, slotsPerEndpoint: 20 };
const SUCCEEDED: AttemptResult = { ok: true, status: 200, durationMs: 1, responseBody: '' };
const FAILED: AttemptResult = { ok: false, reason: 'HTTP 500', status: 500, durationMs: 1, responseBody: '' };

let now: number;
beforeEach(() => {
  now = 0;
});

const gateOf = (limits: Partial<GateParts> = {}): Gate => new Gate({ ...LIMITS, ...limits, now: () => now });

/** `a` is a webhook of the tenant acme, `b/a` one of the tenant b. */
const named = (name: string): Endpoint => {
  const [webhookId = '', tenant = 'acme'] = name.split('/').reverse();
  return { tenant, webhookId };
};

const begun = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let deliveries = 0;
/** Lets the message of a delivery in. */
function entered(gate: Gate, endpoint: string): Pass {
  const pass = gate.enter(named(endpoint), `delivery ${++deliveries}`, 0);
  if (typeof pass === 'number') throw new Error(`It is put off for ${pass} ms.`);
  return pass;
}

/** Makes an attempt with this result. @returns for how many milliseconds its message is put off instead; 0: it was made */
async function attempted(gate: Gate, endpoint: string, result: AttemptResult): Promise<number> {
  const pass = gate.enter(named(endpoint), `delivery ${++deliveries}`, 0);
  if (typeof pass === 'number') return pass;
  const slotMs = await pass.slot();
  if (slotMs === undefined) pass.end(result);
  pass.leave();
  return slotMs ?? 0;
}

describe('slots for attempts', () => {
  /** Requests attempts that last until they are ended. */
  function attempts(gate: Gate, endpoint: string, count: number): { begun: number; end: () => void } {
    const ends: (() => void)[] = [];
    const state = { begun: 0, end: () => ends.shift()?.() };
    const attempt = async (): Promise<void> => {
      const pass = entered(gate, endpoint);
      if ((await pass.slot()) !== undefined) return;
      state.begun += 1;
      ends.push(() => pass.end());
    };
    for (let i = 0; i < count; i++) void attempt();
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
    const gate = gateOf({ inFlight: 10_000 });
    const hanging = Array.from({ length: 100 }, (_, n) => attempts(gate, `slow/${n}`, 10));
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

  test('tenants take turns, and the webhooks of a tenant', async () => {
    const gate = gateOf({ inFlight: 1_000, slots: 2, slotsPerEndpoint: 1 });
    const calling = ['a', 'b', 'c', 'other/a'].map((name) => attempts(gate, name, 5));
    await begun();
    for (let ended = 0; ended < 6; ended++) {
      for (const each of calling) each.end();
      await begun();
    }
    const [first, second, third, other] = calling.map((each) => each.begun);
    expect([first, second, third]).not.toContain(0);
    expect(other).toBeGreaterThanOrEqual(Math.max(first ?? 0, second ?? 0, third ?? 0));
  });

  test('a webhook that answers at once has each next slot, however many slow ones wait', async () => {
    const gate = gateOf({ inFlight: 1_000, slots: 10, slotsPerEndpoint: 2 });
    const names = Array.from({ length: 30 }, (_, n) => `slow ${n}`);
    for (const name of names) {
      const pass = entered(gate, name);
      await pass.slot();
      now += 5_000;
      pass.end(SUCCEEDED);
      pass.leave();
    }
    const slow = names.map((name) => attempts(gate, name, 2));
    const quick = attempts(gate, 'quick', 5);
    await begun();
    slow.find((each) => each.begun > 0)?.end();
    for (const expected of [1, 2, 3, 4, 5]) {
      await begun();
      expect(quick.begun).toBe(expected);
      quick.end();
    }
  });

  test('when stopped, what waits for a slot gets none, and attempts in flight end', async () => {
    const gate = gateOf({ slotsPerEndpoint: 1 });
    const calling = attempts(gate, 'a', 1);
    await begun();
    const waiting = entered(gate, 'a').slot();
    gate.stop();
    expect(await waiting).toBe(0);
    expect(await entered(gate, 'b').slot()).toBe(0);
    calling.end();
  });
});

describe('messages in flight', () => {
  test('a webhook that has its share is put off, and so is a second message of a delivery', () => {
    const gate = gateOf({ inFlight: 10 });
    expect(gate.enter(named('a'), 'first', 0)).toEqual(expect.objectContaining({ leave: expect.any(Function) }));
    expect(gate.enter(named('a'), 'first', 0)).toBe(1_000);
    for (let n = 0; n < 10; n++) gate.enter(named('a'), String(n), 0);
    expect(gate.enter(named('a'), 'more', 0)).toEqual(expect.any(Number));
    expect(gate.enter(named('b'), 'other', 0)).toEqual(expect.objectContaining({ leave: expect.any(Function) }));
  });

  test('one that left makes room', async () => {
    const gate = gateOf({ inFlight: 2 });
    const pass = entered(gate, 'a');
    expect(gate.enter(named('a'), 'next', 0)).toEqual(expect.any(Number));
    pass.leave();
    entered(gate, 'a').leave();
  });

  test('a delivery is waited for until it leaves', async () => {
    const gate = gateOf();
    const pass = gate.enter(named('a'), 'before', 0);
    if (typeof pass === 'number') throw new Error('It is put off.');
    let hasLeft = false;
    const left = gate.left('before').then(() => {
      hasLeft = true;
    });
    await begun();
    expect(hasLeft).toBe(false);
    pass.leave();
    await left;
    await gate.left('before');
  });
});

describe('the circuit of a webhook', () => {
  let gate: Gate;
  beforeEach(() => {
    gate = gateOf();
  });

  /** How long its messages are put off (ms): up to half as long again as until the probe, by chance. */
  function waitMs(endpoint = 'a'): number {
    const pass = gate.enter(named(endpoint), 'delivery', 0);
    if (typeof pass === 'number') return pass;
    pass.leave();
    return 0;
  }

  function expectProbeIn(ms: number): void {
    expect(waitMs()).toBeGreaterThanOrEqual(ms);
    expect(waitMs()).toBeLessThanOrEqual(1.5 * ms);
  }

  async function open(): Promise<void> {
    for (let n = 0; n < 10; n++) {
      if (n > 0) now += 5_000;
      await attempted(gate, 'a', FAILED);
    }
  }

  test('opens when enough failures in a row span enough time', async () => {
    const before = entered(gate, 'a');
    await open();
    expectProbeIn(15_000);
    expect(await before.slot()).toBe(15_000);
    expect(waitMs('b')).toBe(0);
  });

  test('half-open, it lets one attempt be made at a time', async () => {
    await open();
    now += 15_000;
    const [probe, second] = [entered(gate, 'a'), entered(gate, 'a')];
    expect(await probe.slot()).toBeUndefined();
    expect(await second.slot()).toEqual(expect.any(Number));
    expect(waitMs()).toBeGreaterThan(0);
  });

  test('a probe that succeeds closes it', async () => {
    await open();
    now += 15_000;
    expect(await attempted(gate, 'a', SUCCEEDED)).toBe(0);
    expect(waitMs()).toBe(0);
    await attempted(gate, 'a', FAILED);
    expect(waitMs()).toBe(0);
  });

  test('a probe that fails doubles the wait, up to the longest', async () => {
    await open();
    for (const wait of [15_000, 30_000, 60_000, 120_000, 240_000, 300_000, 300_000]) {
      expectProbeIn(wait);
      now += wait;
      await attempted(gate, 'a', FAILED);
    }
  });
});
