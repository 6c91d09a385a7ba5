import { Dispatcher, type Endpoint } from '#app/webhooks/dispatcher.js';

describe('the dispatcher', () => {
  let now: number;

  beforeEach(() => {
    now = 0;
  });

  const dispatcher = (limits: Partial<ConstructorParameters<typeof Dispatcher>[0]> = {}): Dispatcher =>
    new Dispatcher(
      { inFlight: 200, slots: 50, slotsPerEndpoint: 20, ...limits },
      () => now,
      () => 0,
    );

  /** `a` is a webhook of the tenant acme, `b/a` one of the tenant b. */
  const named = (name: string): Endpoint => {
    const [webhookId = '', tenant = 'acme'] = name.split('/').reverse();
    return { tenant, webhookId };
  };

  /** Requests attempts that last until they are ended. */
  function attempts(
    of: Dispatcher,
    endpoint: string,
    count: number,
  ): { begun: number; ended: number; end: () => void } {
    const ends: (() => void)[] = [];
    const state = {
      begun: 0,
      ended: 0,
      end: () => {
        ends.shift()?.();
        state.ended += 1;
      },
    };
    for (let i = 0; i < count; i++) {
      void of.inSlot(named(endpoint), (begun) => {
        state.begun += 1;
        begun();
        return new Promise<void>((resolve) => ends.push(resolve));
      });
    }
    return state;
  }
  const started = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  test('a webhook has at most its number of attempts at once; as one ends the next begins', async () => {
    const calling = attempts(dispatcher(), 'a', 30);
    await started();
    expect(calling.begun).toBe(20);
    calling.end();
    await started();
    expect(calling.begun).toBe(21);
  });

  test('however many webhooks hang, another gets a slot', async () => {
    const shared = dispatcher();
    const hanging = ['a', 'b', 'c'].map((endpoint) => attempts(shared, endpoint, 100));
    await started();
    expect(hanging.map(({ begun }) => begun)).toEqual([18, 11, 10]);
    const another = attempts(shared, 'd', 1);
    await started();
    expect(another.begun).toBe(1);
  });

  test('however many webhooks of a tenant hang, a tenth of the slots is left for others', async () => {
    const shared = dispatcher();
    const hanging = Array.from({ length: 100 }, (_, n) => attempts(shared, `slow/${n}`, 100));
    await started();
    expect(hanging.reduce((sum, { begun }) => sum + begun, 0)).toBe(45);
    const others = ['b', 'c'].map((tenant) => attempts(shared, `${tenant}/a`, 100));
    await started();
    // As many as are free, so that one is left for the next.
    expect(others.map(({ begun }) => begun)).toEqual([3, 1]);
    const next = attempts(shared, 'd/a', 100);
    await started();
    expect(next.begun).toBe(1);
  });

  test('a fifth of the attempts may be at their beginning: a slow webhook gets its slots while the process is busy', async () => {
    const shared = dispatcher();
    const busy: { call: () => void; end: () => void }[] = [];
    for (let n = 0; n < 400; n++) {
      void shared.inSlot(named(`fast/${n % 20}`), async (begun) => {
        await new Promise<void>((resolve) => busy.push({ call: begun, end: resolve }));
      });
    }
    await started();
    expect(busy).toHaveLength(10);
    const slow = attempts(shared, 'slow', 20);
    // The process handles one after the other; their receivers answer at once.
    for (let n = 0; n < 200; n++) {
      const first = busy.shift();
      first?.call();
      first?.end();
      await started();
    }
    expect(busy).toHaveLength(10);
    expect(slow.begun).toBe(20);
  });

  test('an attempt that throws gives its slot back', async () => {
    const single = dispatcher({ slots: 1 });
    await expect(single.inSlot(named('a'), () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await single.inSlot(named('a'), async () => 'next')).toBe('next');
  });

  test('when stopped, what waits for a slot gets none, and attempts in flight end', async () => {
    const single = dispatcher({ slotsPerEndpoint: 1 });
    const calling = attempts(single, 'a', 1);
    const waiting = single.inSlot(named('a'), async () => 'called');
    single.stop();
    expect(await waiting).toBeUndefined();
    expect(await single.inSlot(named('b'), async () => 'called')).toBeUndefined();
    calling.end();
  });

  test('of the room in flight a webhook has as much as is left for others', () => {
    const shared = dispatcher({ inFlight: 8 });
    const taken = (endpoint: string): (() => void)[] => {
      const leave = shared.enter(named(endpoint));
      return leave === undefined ? [] : [leave, ...taken(endpoint)];
    };
    const ofA = taken('a');
    expect(ofA).toHaveLength(5);
    expect(taken('b')).toHaveLength(2);
    expect(taken('c')).toHaveLength(0);
    const [leave] = taken('other/a');
    expect(leave).toBeDefined();
    leave?.();
    ofA[0]?.();
    expect(taken('c').length).toBeGreaterThan(0);
  });

  test('what is put off for a receiver that hangs is put off longer each time, 30 s at most', async () => {
    const shared = dispatcher({ slotsPerEndpoint: 1 });
    attempts(shared, 'a', 1);
    await started();
    now += 100_000;
    const delays = [0, 1, 2, 5, 6, 1000].map((redeliveries) => shared.delayMs(named('a'), redeliveries));
    expect(delays).toEqual([500, 1_000, 2_000, 16_000, 30_000, 30_000]);
  });
});
