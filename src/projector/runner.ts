/**
 * Keeps the read models current: reads the log from the lowest checkpoint, applies each event to each projection that
 * has not applied it, and commits the changes together with the checkpoints. An event that cannot be applied parks its
 * tenant's part of the projection: its later events are skipped, and everything else continues.
 */
import PQueue from 'p-queue';
import type { EventStore, Position } from '../ports/eventStore.js';
import { anchorAt } from '../ports/logAnchor.js';
import type { Projection } from '../ports/projection.js';
import type { Parked } from '../ports/projectionProgress.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { type Failures, inTransactionWithout } from './applying.js';
import { readCheckpoints } from './checkpoints.js';
import { prepareFilling } from './filling.js';
import { type ProjectedTraces, reportTraces } from './projectedTraces.js';
import { type BatchDeps, type LongEvents, NO_LONG_EVENTS, ProjectionBatch } from './projectionBatch.js';
import { ReadAhead } from './readAhead.js';
import { retryParked } from './retryParked.js';
import { ProjectedTenants, stepsOf } from './steps.js';

export type RunnerDeps = {
  readonly eventStore: EventStore;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  /** Serialises writes; shared with everything else that uses the same writer. */
  readonly writing?: PQueue;
  /** Replaces read models of another log by those of this one. Default false: refuses to start. */
  readonly acceptLog?: boolean;
  /** Called with the reason when all read models are rebuilt. */
  readonly onReset?: (reason: string) => void;
  /** Called when a part is parked, or continues. */
  readonly onParked?: (parked: Parked) => void;
  readonly onUnparked?: (parked: Parked) => void;
  /** Called for each commit that belongs to a trace. */
  readonly onTraces?: (projected: ProjectedTraces) => void;
};

/**
 * Runs until the signal aborts.
 * @throws OtherLogError; errors of an engine or a projection. A restart continues at the checkpoint
 */
export async function runProjections(
  { writing = new PQueue({ concurrency: 1 }), ...deps }: RunnerDeps,
  signal: AbortSignal,
): Promise<void> {
  const { eventStore, writer, projections } = deps;
  const log = await eventStore.identity();
  await prepareFilling({ ...deps, writing }, signal);
  if (signal.aborted) return;
  const checkpoints = await readCheckpoints(writer, projections);
  const furthest = Math.max(...checkpoints.values());
  // A projection that is filled from the start catches up first, so that the others need not read the log again.
  const behind = projections.filter(({ name }) => (checkpoints.get(name) ?? 0) < furthest);
  if (behind.length > 0) await follow({ ...deps, writing, projections: behind }, furthest, signal);
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  let isAnyParked = true;
  const onBatch = (batch: ProjectionBatch): void => {
    isAnyParked = batch.isAnyParked;
  };
  const parts = [
    follow({ ...deps, writing, log, onBatch }, Number.POSITIVE_INFINITY, running),
    retryParked({ ...deps, writing, isAnyParked: () => isAnyParked }, running),
  ];
  try {
    await Promise.all(parts);
  } finally {
    ending.abort();
    await Promise.allSettled(parts);
  }
}

type FollowDeps = Required<Pick<RunnerDeps, 'eventStore' | 'writer' | 'projections' | 'writing'>> &
  Pick<RunnerDeps, 'onParked' | 'onTraces'> & {
    readonly onBatch?: (batch: ProjectionBatch) => void;
    /** Id of the log; set only if all projections follow it together. */
    readonly log?: string;
  };

/** Projects stored and new events up to the position, or until the signal aborts. */
async function follow(deps: FollowDeps, until: Position, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  const checkpoints = await readCheckpoints(deps.writer, deps.projections);
  const readAhead = new ReadAhead(Math.min(...checkpoints.values()), running);
  const parts = [readLog(deps, readAhead, running), applyUntil(deps, readAhead, until, running)];
  try {
    await Promise.race(parts);
  } finally {
    ending.abort();
    await Promise.allSettled(parts);
  }
}

/** Reads the log ahead. @throws what the log throws */
async function readLog(
  { eventStore, projections, log }: FollowDeps,
  readAhead: ReadAhead,
  signal: AbortSignal,
): Promise<void> {
  const after = readAhead.releasedTo;
  const tenants = new ProjectedTenants(eventStore);
  const streamPrefixes = [...new Set(projections.flatMap((projection) => projection.streamPrefixes))];
  let position = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal })) {
    if (slice.position === position) continue;
    position = slice.position;
    const place = log === undefined ? undefined : anchorAt(log, slice);
    if (slice.events.length === 0) readAhead.addEmpty({ steps: [], position, place });
    else readAhead.add({ steps: await stepsOf(tenants, slice.events), position, place });
    while (!readAhead.hasRoom && !signal.aborted) await readAhead.change();
  }
}

/** @throws what an engine throws */
async function applyUntil(
  { writer, projections, writing, onParked, onTraces, onBatch }: FollowDeps,
  readAhead: ReadAhead,
  until: Position,
  signal: AbortSignal,
): Promise<void> {
  const parts = { writer, projections, readAhead };
  let before = NO_LONG_EVENTS;
  while (!signal.aborted) {
    if (readAhead.isEmpty) await readAhead.change();
    if (readAhead.isEmpty || signal.aborted) continue;
    const apply = () => writing.add(() => applyBatch(parts, before));
    const batch = await reportTraces(
      onTraces,
      () => readAhead.view().slices.flatMap(({ steps }) => steps.map(({ event }) => event)),
      apply,
    );
    onBatch?.(batch);
    for (const each of batch.parked) onParked?.(each);
    readAhead.release(batch.position);
    if (batch.position >= until) return;
    before = batch.longEvents;
  }
}

/** Applies one batch in one transaction. */
async function applyBatch(parts: BatchDeps, before: LongEvents): Promise<ProjectionBatch> {
  const { writer, projections, readAhead } = parts;
  const view = readAhead.view();
  const steps = () => view.slices.flatMap((slice) => slice.steps);
  let batch: ProjectionBatch | undefined;
  const write = async (failures: Failures) => {
    // State of a failed try is discarded.
    batch = await ProjectionBatch.begin(parts, view, failures, batch === undefined ? before : NO_LONG_EVENTS);
    return batch.apply();
  };
  await inTransactionWithout(writer, { projections, steps }, write, view.slices.at(-1)?.place);
  if (batch === undefined) throw new Error('A transaction was committed in which nothing was done.');
  return batch;
}
