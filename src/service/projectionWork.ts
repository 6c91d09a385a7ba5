/** Verifies, rebuilds and retries read models in all their lanes: for the command line, and for the operator's console. */
import { setTimeout as delay } from 'node:timers/promises';
import type { Config } from '../config.js';
import type { EventStore } from '../ports/eventStore.js';
import type { JobProgress } from '../ports/projectionJobs.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { RebuildScope } from '../ports/readModelWriter.js';
import { logOf } from '../projector/lanes.js';
import { type RebuildReport, rebuildProjection } from '../rebuild/rebuild.js';
import { MAX_DIFFERENCES, type VerifyDeps, type VerifyReport, verifyProjection } from '../rebuild/verify.js';
import { openReadModelWriter, settledLanes } from './engines.js';

/** One, or on MongoDB several, each with some of the tenants. */
export type Lanes = readonly VerifyDeps[];

/** Runs `work` with the lanes of the read models open. @throws what an engine throws; errors of the work */
export async function withLanes<T>(
  config: Config,
  eventStore: EventStore,
  work: (lanes: Lanes) => Promise<T>,
): Promise<T> {
  const lanes: VerifyDeps[] = [];
  try {
    for (const lane of await settledLanes(config)) {
      const writer = await openReadModelWriter(config, { lane });
      lanes.push({ eventStore: logOf(lane, eventStore), writer, deliveryLogDays: config.DELIVERY_LOG_DAYS });
    }
    return await work(lanes);
  } finally {
    for (const { writer } of lanes) await writer.close();
  }
}

export type Progress = Omit<JobProgress, 'projection'> & { readonly events: number };

/** Runs the work of one lane, and shows its progress. */
export type Follow = <T>(work: (onProgress: (progress: Progress) => void) => Promise<T>) => Promise<T>;

/** @throws what `rebuildProjection` throws; lanes that were rebuilt before stay so */
export async function rebuildLanes(
  lanes: Lanes,
  scope: RebuildScope,
  follow: Follow,
  signal: AbortSignal,
): Promise<RebuildReport> {
  const reports: RebuildReport[] = [];
  for (const lane of lanes)
    reports.push(
      await follow((onProgress) =>
        rebuildProjection(
          lane,
          scope,
          ({ position, head, ...applied }) => onProgress({ step: 'applying', done: position, of: head, ...applied }),
          signal,
        ),
      ),
    );
  return reports.reduce(rebuiltTogether);
}

const rebuiltTogether = (sum: RebuildReport, next: RebuildReport): RebuildReport => ({
  ...sum,
  events: sum.events + next.events,
  records: sum.records + next.records,
  position: Math.min(sum.position, next.position),
  behind: Math.max(sum.behind, next.behind),
  seconds: sum.seconds + next.seconds,
});

/** @throws what `verifyProjection` throws */
export async function verifyLanes(
  lanes: Lanes,
  scope: RebuildScope,
  follow: Follow,
  signal: AbortSignal,
): Promise<VerifyReport> {
  const reports: VerifyReport[] = [];
  for (const lane of lanes)
    reports.push(
      await follow((onProgress) =>
        verifyProjection(
          lane,
          scope,
          (progress) => {
            const { step, records } = progress;
            if (progress.step === 'applying')
              onProgress({ step, records, events: progress.events, done: progress.position, of: progress.head });
            else onProgress({ step, records, events: 0, done: progress.parts, of: progress.of });
          },
          signal,
        ),
      ),
    );
  return reports.reduce(verifiedTogether);
}

function verifiedTogether(sum: VerifyReport, next: VerifyReport): VerifyReport {
  const differences = [...sum.differences, ...next.differences];
  const named = differences.slice(0, MAX_DIFFERENCES);
  return {
    ...sum,
    position: Math.min(sum.position, next.position),
    parts: sum.parts + next.parts,
    records: sum.records + next.records,
    differences: named,
    more: sum.more + next.more + differences.length - named.length,
    seconds: sum.seconds + next.seconds,
  };
}

/** `asked`: the retry has not happened yet. */
export type RetryOutcome = { readonly tenant: string; readonly projection: string } & (
  | { readonly outcome: 'goes on' | 'asked' }
  | { readonly outcome: 'parked'; readonly parked: Parked }
);

/** The projecting process retries what is parked of a tenant. @returns what came of it within some seconds */
export async function retryParked(
  lanes: Lanes,
  tenant: string,
  projections: readonly string[],
): Promise<readonly RetryOutcome[]> {
  const asked = (await parkedIn(lanes)).filter(
    (each) => each.tenant === tenant && projections.includes(each.projection),
  );
  for (const each of asked) for (const { writer } of lanes) await writer.askRetry(each);
  return outcomesOf(lanes, asked);
}

const WAIT_MS = 10_000;
const LOOK_MS = 200;

const parkedIn = async (lanes: Lanes): Promise<readonly Parked[]> =>
  (await Promise.all(lanes.map(({ writer }) => writer.parked()))).flat();

/** Waits until all outcomes are known, or until the time limit. */
async function outcomesOf(lanes: Lanes, asked: readonly Parked[]): Promise<readonly RetryOutcome[]> {
  const until = performance.now() + WAIT_MS;
  for (;;) {
    const now = await parkedIn(lanes);
    const outcomes = asked.map(({ tenant, projection }): RetryOutcome => {
      const parked = now.find((each) => each.tenant === tenant && each.projection === projection);
      if (parked === undefined) return { tenant, projection, outcome: 'goes on' };
      if (parked.retryAsked) return { tenant, projection, outcome: 'asked' };
      return { tenant, projection, outcome: 'parked', parked };
    });
    if (outcomes.every(({ outcome }) => outcome !== 'asked') || performance.now() > until) return outcomes;
    await delay(LOOK_MS);
  }
}
