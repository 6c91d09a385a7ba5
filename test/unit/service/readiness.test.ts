/** Whether the service says that it is ready, while engines and tenants come and go. */
import type { Progress } from '#app/projections/progress.js';
import { askerOf } from '#app/service/checks.js';
import { ownChecks, readiness, watchRows } from '#app/service/health.js';

describe('readiness', () => {
  const HEAD = 10;
  let position: number;
  let filling: ReadonlySet<string>;
  let failure: Error | undefined;
  let behind: ReturnType<Progress['behind']>;
  let ask: ReturnType<typeof readiness>;
  const ready = async () => (await ask()).ready;

  beforeEach(() => {
    position = HEAD;
    filling = new Set();
    failure = undefined;
    behind = [];
    const progress = {
      get position() {
        return position;
      },
      filling: () => filling,
    };
    const watch = watchRows({ head: async () => HEAD }, progress);
    const own = { watch, parked: () => [], behind: () => behind, rowsFailure: () => failure } as never;
    ask = readiness(askerOf(ownChecks(own).filter(({ name }) => name === 'projections')));
  });

  test('comes when all rows have caught up with the log, also those of tenants that are filled', async () => {
    position = 5;
    const detail = 'The rows have not caught up yet: they are at position 5 of 10.';
    expect(await ask()).toEqual({ ready: false, checks: { projections: { ok: false, detail } } });
    position = HEAD;
    filling = new Set(['acme']);
    expect(await ready()).toBe(false);
    filling = new Set();
    expect(await ready()).toBe(true);
    filling = new Set(['acme']);
    expect(await ready()).toBe(true);
  });

  test('goes while the follower fails', async () => {
    expect(await ready()).toBe(true);
    failure = new Error('MongoDB is away');
    expect(await ready()).toBe(false);
    failure = undefined;
    expect(await ready()).toBe(true);
  });
});
