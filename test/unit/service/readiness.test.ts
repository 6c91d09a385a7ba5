import { ProjectionWatch } from '#app/projections/projections.js';
import { readiness } from '#app/service/engineHealth.js';

describe('readiness', () => {
  const HEAD = 10;
  let reached = HEAD;
  let failure: Error | undefined;
  let watch: ProjectionWatch;
  const ready = async () => (await readiness({ engines: {}, watch, projectorFailure: () => failure })).ready;

  beforeEach(() => {
    reached = HEAD;
    failure = undefined;
    const progress = {
      checkpoint: async () => reached,
      waitFor: async (_projection: string, position: number) => reached >= position,
    };
    watch = new ProjectionWatch({ head: async () => HEAD }, progress);
  });

  test('is given while projections that were current are on their way', async () => {
    expect(await ready()).toBe(true);
    reached = 5;
    expect(await ready()).toBe(true);
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
