import { ProjectionWatch } from '#app/projections/projections.js';
import { readiness } from '#app/service/engineHealth.js';

describe('readiness', () => {
  const HEAD = 10;
  let reached = HEAD;
  let failure: Error | undefined;
  let withheld: string | undefined;
  let watch: ProjectionWatch;
  const report = () =>
    readiness({ engines: {}, watch, withheld: async () => withheld, projectorFailure: () => failure });
  const ready = async () => (await report()).ready;

  beforeEach(() => {
    reached = HEAD;
    failure = undefined;
    withheld = undefined;
    const progress = {
      checkpoint: async () => reached,
      place: async () => undefined,
      waitFor: async (_projection: string, position: number) => reached >= position,
    };
    watch = new ProjectionWatch({ head: async () => HEAD }, progress);
  });

  test('is given while projections that were current are on their way', async () => {
    expect(await ready()).toBe(true);
    reached = 5;
    expect(await ready()).toBe(true);
  });

  test('says why nothing is read', async () => {
    withheld = 'The read models are built anew.';
    expect(await report()).toEqual({ ready: false, checks: { projections: { ok: false, detail: withheld } } });
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
