/**
 * Keeps the read models current: reads the log from the lowest checkpoint on, applies each event to each
 * projection that has not seen it, and commits what a slice changed together with the checkpoints. An event that cannot be
 * applied parks its tenant's part of the projection, whose later events are passed over; all others go on.
 */
import PQueue from 'p-queue';
import type { EventStore, KeptPlace, Position } from '../ports/eventStore.js';
import type { Parked } from '../ports/readModels.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import {
  Applying,
  checkRoom,
  type Failures,
  inTransactionWithout,
  isOf,
  lastBefore,
  parkedAt,
  partOf,
  type Step,
  stepsOf,
} from './applying.js';
import { keptPlace } from './keptPlace.js';
import { type ProjectedTraces, tellTraces } from './projectedTraces.js';
import { inTransaction, ProjectedTenants, type Projection } from './projection.js';
import { GATE_LOOKS_MS, wholeFrom } from './readGate.js';
import { retryParked } from './retryParked.js';
import { startAnewWhereNeeded } from './startAnew.js';

export type RunnerDeps = {
  readonly eventStore: EventStore;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  /** One write at a time: to be shared with whoever else writes through the same writer. */
  readonly writing?: PQueue;
  /** Read models of another log are thrown away for those of this one. Default false: they are left alone. */
  readonly acceptLog?: boolean;
  /** Hears why all read models are built anew. */
  readonly onAnew?: (reason: string) => void;
  /** Hears what is parked, and what goes on again. */
  readonly onParked?: (parked: Parked) => void;
  readonly onUnparked?: (parked: Parked) => void;
  /** Hears of each commit that is part of a trace. */
  readonly onTraces?: (projected: ProjectedTraces) => void;
};

/** A checkpoint is written at least each time this many positions were passed over. */
const QUIET_POSITIONS = 5_000;

/**
 * Runs until the signal aborts.
 * @throws OtherLogError; whatever an engine or a projection throws: starting again goes on where it was
 */
export async function runProjections(
  { writing = new PQueue({ concurrency: 1 }), ...deps }: RunnerDeps,
  signal: AbortSignal,
): Promise<void> {
  const { eventStore, writer, projections } = deps;
  const log = await eventStore.identity();
  await startAnewWhereNeeded(deps, writing, signal);
  await startFilling({ eventStore, writer, projections, writing }, signal);
  if (signal.aborted) return;
  const checkpoints = await readCheckpoints(writer, projections);
  const furthest = Math.max(...checkpoints.values());
  // One that is new, or written anew, catches up first: the others need not read the log again for it.
  const behind = projections.filter(({ name }) => (checkpoints.get(name) ?? 0) < furthest);
  if (behind.length > 0) await follow({ ...deps, writing, projections: behind }, furthest, signal);
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  const parts = [
    follow({ ...deps, writing, log }, Number.POSITIVE_INFINITY, running),
    retryParked({ ...deps, writing }, running),
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
    /** Id of the log, where all projections are at one place of it. */
    readonly log?: string;
  };

/** Projects what is in the log, and what comes, until the position or the signal's abort. */
async function follow(
  { eventStore, writer, projections, writing, log, onParked, onTraces }: FollowDeps,
  until: Position,
  signal: AbortSignal,
): Promise<void> {
  const after = Math.min(...(await readCheckpoints(writer, projections)).values());
  const tenants = new ProjectedTenants(eventStore);
  const streamPrefixes = [...new Set(projections.flatMap((projection) => projection.streamPrefixes))];
  let committed = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal })) {
    if (slice.events.length === 0 && !slice.caughtUp && slice.position - committed < QUIET_POSITIONS) continue;
    if (slice.position === committed) continue;
    // Before the transaction, which others wait for: the log may be slow.
    const steps = await stepsOf(tenants, slice.events);
    const place = log === undefined ? undefined : keptPlace(log, slice);
    const project = () => writing.add(() => projectSlice(writer, projections, steps, slice.position, place));
    const parked = await tellTraces(onTraces, slice, project);
    for (const each of parked) onParked?.(each);
    committed = slice.position;
    if (committed >= until) return;
  }
}

/** @returns what it has parked */
async function projectSlice(
  writer: ReadModelWriter,
  projections: readonly Projection[],
  steps: readonly Step[],
  position: Position,
  place: KeptPlace | undefined,
): Promise<readonly Parked[]> {
  let parked: readonly Parked[] = [];
  const write = async (failures: Failures): Promise<ReadonlyMap<string, Position>> => {
    // Read again under the lock: another process may project the same log, and a rebuild may have swapped.
    const checkpoints = await readCheckpoints(writer, projections);
    const before = await writer.parked();
    checkRoom(before, failures);
    const passedOver = new Set(before.map(({ projection, tenant }) => partOf(projection, tenant)));
    const dropped = new Set<string>();
    const applying = new Applying(writer);
    for (const step of steps) {
      for (const projection of projections) {
        const seen = (checkpoints.get(projection.name) ?? 0) >= step.event.position;
        if (seen || !isOf(projection, step)) continue;
        const part = partOf(projection.name, step.tenant);
        const failure = failures.get(part);
        const isPassedOver = passedOver.has(part) || (failure && step.event.position >= failure.event.position);
        if (isPassedOver && step.event.type !== 'TenantDeleted') continue;
        await applying.apply(projection, step);
        // Nothing is left that could go on.
        if (isPassedOver) dropped.add(part);
      }
    }
    parked = [...failures.values()]
      .map((failure) => parkedAt(failure, lastBefore(failure, steps, checkpoints)))
      .filter(({ projection, tenant }) => !dropped.has(partOf(projection, tenant)));
    for (const each of parked) await writer.park(each);
    for (const each of before) if (dropped.has(partOf(each.projection, each.tenant))) await writer.unpark(each);
    return reached(checkpoints, projections, position);
  };
  await inTransactionWithout(writer, { projections, steps }, write, place);
  return parked;
}

function reached(
  checkpoints: ReadonlyMap<string, Position>,
  projections: readonly Projection[],
  position: Position,
): ReadonlyMap<string, Position> {
  return new Map(
    projections.flatMap((projection) => [
      [projection.name, Math.max(position, checkpoints.get(projection.name) ?? 0)] as const,
      [versionMark(projection), projection.version] as const,
    ]),
  );
}

async function readCheckpoints(
  writer: ReadModelWriter,
  projections: readonly Projection[],
): Promise<ReadonlyMap<string, Position>> {
  const entries = projections.map(async ({ name }) => [name, await writer.checkpoint(name)] as const);
  return new Map(await Promise.all(entries));
}

/** The version that wrote a projection stands beside its checkpoint. */
const versionMark = (projection: Projection): string => `${projection.name}.version`;

/** Those that are new, or that another version has written, are filled from the log, and not read until they hold it all. */
async function startFilling(
  { eventStore, writer, projections, writing }: Omit<FollowDeps, 'log' | 'onParked' | 'onTraces'>,
  signal: AbortSignal,
): Promise<void> {
  const old: Projection[] = [];
  const unread = new Map<string, Position>();
  const head = await eventStore.head();
  for (const projection of projections) {
    const written = await writer.checkpoint(versionMark(projection));
    const isOld = written !== 0 && written !== projection.version;
    if (isOld) old.push(projection);
    if (isOld || (await writer.checkpoint(projection.name)) === 0) {
      unread.set(wholeFrom(projection.name), head).set(projection.name, 0);
    }
  }
  if (unread.size === 0) return;
  await writing.add(() => inTransaction(writer, async () => unread));
  if (old.length === 0) return;
  // Before anything of it is thrown away, every process has seen that it may not be read.
  await sleep(2 * GATE_LOOKS_MS, signal);
  if (signal.aborted) return;
  for (const { name } of old) await writing.add(() => writer.reset(name));
}
