/** Whether the service says that it is ready, while engines and tenants come and go. */
import type { EventStore } from '#app/ports/eventStore.js';
import { ProjectionWatch } from '#app/projector/projections.js';
import type { Behind } from '#app/reading/staleness.js';
import { readiness } from '#app/service/engineHealth.js';

describe('readiness', () => {
  const HEAD = 10;
  let reached = HEAD;
  let failure: Error | undefined;
  let withheld: string | undefined;
  let behind: Behind | undefined;
  let ask: ReturnType<typeof readiness>;
  const report = () => ask(true);
  const ready = async () => (await report()).ready;

  beforeEach(() => {
    reached = HEAD;
    failure = undefined;
    withheld = undefined;
    behind = undefined;
    const progress = {
      checkpoint: async () => reached,
      anchor: async () => undefined,
      parked: async () => [],
      checkpoints: async () => new Map<string, number>(),
      outOfOrder: async () => [],
      waitFor: async (_projection: string, position: number) => reached >= position,
      waitForEvent: async (_projection: string, position: number) => reached >= position,
    };
    const subscribe: EventStore['subscribe'] = async function* () {
      yield { events: [], position: HEAD, caughtUp: true };
    };
    const watch = new ProjectionWatch({ head: async () => HEAD, subscribe }, progress);
    ask = readiness({
      engines: {},
      watch,
      withheld: async () => withheld,
      parked: async () => [],
      behind: async () => behind,
      projectorFailure: () => failure,
    });
  });

  test('says why nothing is read', async () => {
    withheld = 'The read models are rebuilt.';
    expect(await report()).toEqual({ ready: false, checks: { projections: { ok: false, detail: withheld } } });
  });

  test('is given while tenants are behind, at most ten of whom are named, and all are counted', async () => {
    behind = { names: Array.from({ length: 12 }, (_, n) => `acme${n}`), isAll: true, seconds: 75 };
    const detail =
      'by up to 75 seconds: acme0, acme1, acme2, acme3, acme4, acme5, acme6, acme7, acme8, acme9, and 2 more.';
    expect(await report()).toEqual({
      ready: true,
      checks: { projections: { ok: true, detail: `12 tenants are behind what was written, ${detail}` } },
    });
    behind = { ...behind, isAll: false };
    expect(JSON.stringify(await report())).toContain('At least 12 tenants are behind');
  });

  test('comes back after the projector failed only when the projections have caught up', async () => {
    expect(await ready()).toBe(true);
    failure = new Error('MongoDB is away');
    expect(await ready()).toBe(false);
    failure = undefined;
    reached = 5;
    expect(await ready()).toBe(false);
    reached = HEAD;
    expect(await ready()).toBe(true);
  });
});
