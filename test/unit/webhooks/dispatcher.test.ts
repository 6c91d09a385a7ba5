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

  test('when stopped, what waits for a slot gets none, and attempts in flight end', async () => {
    const single = dispatcher({ slotsPerEndpoint: 1 });
    const calling = attempts(single, 'a', 1);
    const waiting = single.inSlot(named('a'), async () => 'called');
    single.stop();
    expect(await waiting).toBeUndefined();
    expect(await single.inSlot(named('b'), async () => 'called')).toBeUndefined();
    calling.end();
  });
});
