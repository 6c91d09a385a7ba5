import type { EventStore } from '#app/ports/eventStore.js';
import type { Parked } from '#app/ports/projectionProgress.js';
import { ProjectionWatch } from '#app/projector/projections.js';
import type { Behind } from '#app/reading/staleness.js';
import { readiness } from '#app/service/engineHealth.js';
import { event, metadata } from '../../contract/eventStoreFixtures.js';

describe('readiness', () => {
  const HEAD = 10;
  let reached = HEAD;
  let failure: Error | undefined;
  let withheld: string | undefined;
  let parked: readonly Parked[] = [];
  let behind: Behind | undefined;
  let watch: ProjectionWatch;
  let looks = 0;
  let ask: ReturnType<typeof readiness>;
  const report = (isNamed = true) => ask(isNamed);
  const ready = async () => (await report()).ready;

  beforeEach(() => {
    reached = HEAD;
    failure = undefined;
    withheld = undefined;
    parked = [];
    behind = undefined;
    looks = 0;
    const progress = {
      checkpoint: async () => reached,
      anchor: async () => undefined,
      parked: async () => parked,
      checkpoints: async () => new Map<string, number>(),
      outOfOrder: async () => [],
      waitFor: async (_projection: string, position: number) => reached >= position,
      waitForEvent: async (_projection: string, position: number) => reached >= position,
    };
    const subscribe: EventStore['subscribe'] = async function* ({ after }) {
      const events = after < HEAD ? [{ ...event(), stream: 'order-acme.1', revision: 0, position: after + 1 }] : [];
      yield { events, position: HEAD, caughtUp: true };
    };
    const twoSecondsLater = Date.parse(metadata.occurredAt) + 2_000;
    watch = new ProjectionWatch({ head: async () => HEAD, subscribe }, progress, () => twoSecondsLater);
    ask = readiness({
      engines: {},
      watch,
      withheld: async () => withheld,
      parked: async () => {
        looks += 1;
        return parked;
      },
      behind: async () => behind,
      projectorFailure: () => failure,
    });
  });

  test('a catch-up tells how far it is until its time is over', async () => {
    reached = 5;
    const told: unknown[] = [];
    expect(await watch.catchUp(1_100, (progress) => told.push(progress))).toBe(false);
    expect(told).toEqual(Array.from({ length: 2 }, () => ({ position: 5, of: HEAD })));
  });

  test('is given while projections that were current are on their way', async () => {
    expect(await ready()).toBe(true);
    reached = 5;
    expect(await ready()).toBe(true);
  });

  test('says how far each projection is behind, in events and in seconds', async () => {
    expect(await watch.lag()).toContainEqual({ name: 'records', behind: 0, seconds: 0 });
    reached = HEAD - 3;
    expect(await watch.lag()).toContainEqual({ name: 'records', behind: 3, seconds: 2 });
  });

  test('says why nothing is read', async () => {
    withheld = 'The read models are rebuilt.';
    expect(await report()).toEqual({ ready: false, checks: { projections: { ok: false, detail: withheld } } });
  });

  test('is given while tenants are parked, at most ten of whom are named', async () => {
    parked = Array.from({ length: 12 }, (_, n) => ({
      tenant: `acme${n}`,
      projection: 'records',
      checkpoint: 3,
      position: 4,
      eventId: 'an id',
      eventType: 'RecordCreated',
      error: 'It does not fit.',
      since: '2026-11-22T10:00:00.000Z',
      retryAsked: false,
    }));
    const { ready, checks } = await report();
    expect(ready).toBe(true);
    expect(checks.projections).toMatchObject({
      ok: true,
      detail: expect.stringMatching(
        /^12 tenants are parked: acme0 \(records at position 4\), .*acme9 .*, and 2 more\./,
      ),
    });
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

  test('names no tenant to whoever may not know them, but says how many are behind', async () => {
    behind = { names: ['acme'], isAll: true, seconds: 2 };
    const detail = '1 tenant is behind what was written, by up to 2 seconds.';
    expect((await report(false)).checks.projections).toEqual({ ok: true, detail });
    reached = 5;
    watch.mistrust();
    const { ready, checks } = await report(false);
    expect(ready).toBe(false);
    expect(checks.projections?.detail).toMatch(/have not caught up yet: .*behind\. 1 tenant is behind[^:]*$/);
  });

  test('is looked up once for all who ask at the same time', async () => {
    await Promise.all(Array.from({ length: 50 }, () => report()));
    expect(looks).toBe(1);
    await report();
    expect(looks).toBe(2);
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
