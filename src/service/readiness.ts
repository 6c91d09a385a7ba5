/** What /health/ready answers: which part of the service is missing. */
import type { ReadinessReport } from '../api/deps.js';
import type { ProjectionWatch } from '../projections/projections.js';
import { withinTime } from '../supervision/waiting.js';

/** A cheap call to each engine this process needs, by its name; it rejects when the engine is away. */
export type EngineProbes = { readonly [engine: string]: () => Promise<unknown> };

type Parts = {
  readonly engines: EngineProbes;
  readonly watch: ProjectionWatch;
  /** What stopped the projector last; undefined while it runs. */
  readonly projectorFailure: () => Error | undefined;
};

type Check = { readonly ok: boolean; readonly detail?: string };

/** Who asks waits for an answer: an engine that hangs counts as away. */
const PROBE_LIMIT_MS = 3_000;

export async function readiness({ engines, watch, projectorFailure }: Parts): Promise<ReadinessReport> {
  const probes: EngineProbes = {
    ...engines,
    projections: async () => {
      const failure = projectorFailure();
      if (failure !== undefined) throw failure;
      const trouble = await watch.trouble();
      if (trouble !== undefined) throw new Error(trouble);
    },
  };
  const checks = await checkAll(probes);
  if (checks.projections?.ok === false) watch.mistrust();
  return { ready: Object.values(checks).every(({ ok }) => ok), checks };
}

/** Asks all of them at once; never rejects. */
export async function checkAll(probes: EngineProbes): Promise<{ readonly [engine: string]: Check }> {
  const checks = Object.entries(probes).map(async ([name, probe]) => [name, await check(probe)] as const);
  return Object.fromEntries(await Promise.all(checks));
}

async function check(probe: () => Promise<unknown>): Promise<Check> {
  try {
    await withinTime(PROBE_LIMIT_MS, `no answer within ${PROBE_LIMIT_MS} ms`, probe());
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: error instanceof Error ? error.message : String(error) };
  }
}
