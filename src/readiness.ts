/** What /health/ready answers: which part of the service is missing. */
import type { ReadinessReport } from './api/deps.js';
import type { EventStore } from './ports/eventStore.js';
import type { ReadModels } from './ports/readModels.js';
import type { ProjectionWatch } from './projections/projectionWatch.js';

type Parts = {
  readonly eventStore: Pick<EventStore, 'head'>;
  readonly readModels: Pick<ReadModels, 'checkpoint'>;
  readonly watch: ProjectionWatch;
  /** What stopped the projector last; undefined while it runs. */
  readonly projectorFailure: () => Error | undefined;
};

export async function readiness({ eventStore, readModels, watch, projectorFailure }: Parts): Promise<ReadinessReport> {
  const checks = {
    event_store: await check(() => eventStore.head()),
    read_models: await check(() => readModels.checkpoint('records')),
    projections: await check(async () => {
      const failure = projectorFailure();
      if (failure !== undefined) throw failure;
      const trouble = await watch.trouble();
      if (trouble !== undefined) throw new Error(trouble);
    }),
  };
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

async function check(probe: () => Promise<unknown>): Promise<{ readonly ok: boolean; readonly detail?: string }> {
  try {
    await probe();
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}
