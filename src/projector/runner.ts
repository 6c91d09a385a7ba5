/**
 * Keeps the read models current: reads the log from the lowest checkpoint on, applies each event to each
 * projection that has not seen it, and commits what a slice changed together with the checkpoints. An event that cannot be
 * applied parks its tenant's part of the projection, whose later events are passed over; all others go on.
 */
import PQueue from 'p-queue';
import type { EventStore, Position } from '../ports/eventStore.js';
import { anchorAt } from '../ports/logAnchor.js';
import type { Projection } from '../ports/projection.js';
import type { Parked } from '../ports/readModels.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { sleep } from '../supervision/waiting.js';
import { type Failures, inTransactionWithout } from './applying.js';
import { filledAt, MARKS_SEEN_MS, readCheckpoints, versionMark } from './checkpoints.js';
import { type ProjectedTraces, tellTraces } from './projectedTraces.js';
import { type BatchDeps, type LongEvents, NO_LONG_EVENTS, ProjectionBatch } from './projectionBatch.js';
import { ReadAhead } from './readAhead.js';
import { resetForLog } from './resetForLog.js';
import { retryParked } from './retryParked.js';
import { stepsOf } from './step.js';
import { inTransaction, ProjectedTenants } from './transaction.js';

export type RunnerDeps = {
  readonly eventStore: EventStore;
  readonly writer: ReadModelWriter;
  readonly projections: readonly Projection[];
  /** One write at a time: to be shared with whoever else writes through the same writer. */
  readonly writing?: PQueue;
  /** Read models of another log are thrown away for those of this one. Default false: they are left alone. */
  readonly acceptLog?: boolean;
  /** Hears why all read models are built anew. */
  readonly onReset?: (reason: string) => void;
  /** Hears what is parked, and what goes on again. */
  readonly onParked?: (parked: Parked) => void;
  readonly onUnparked?: (parked: Parked) => void;
  /** Hears of each commit that is part of a trace. */
  readonly onTraces?: (projected: ProjectedTraces) => void;
};

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
  await resetForLog(deps, writing, signal);
  await startFilling({ eventStore, writer, projections, writing }, signal);
  if (signal.aborted) return;
  const checkpoints = await readCheckpoints(writer, projections);
  const furthest = Math.max(...checkpoints.values());
  // One that is new, or written anew, catches up first: the others need not read the log again for it.
  const behind = projections.filter(({ name }) => (checkpoints.get(name) ?? 0) < furthest);
  if (behind.length > 0) await follow({ ...deps, writing, projections: behind }, furthest, signal);
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  let isAnyParked = true;
  const onTurn = (turn: ProjectionBatch): void => {
    isAnyParked = turn.isAnyParked;
  };
  const parts = [
    follow({ ...deps, writing, log, onTurn }, Number.POSITIVE_INFINITY, running),
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
    readonly onTurn?: (turn: ProjectionBatch) => void;
    /** Id of the log, where all projections are at one place of it. */
    readonly log?: string;
  };

/** Projects what is in the log, and what comes, until the position or the signal's abort. */
async function follow(deps: FollowDeps, until: Position, signal: AbortSignal): Promise<void> {
  const ending = new AbortController();
  const running = AbortSignal.any([signal, ending.signal]);
  const checkpoints = await readCheckpoints(deps.writer, deps.projections);
  const backlog = new ReadAhead(Math.min(...checkpoints.values()), running);
  const parts = [readAhead(deps, backlog, running), applyUntil(deps, backlog, until, running)];
  try {
    await Promise.race(parts);
  } finally {
    ending.abort();
    await Promise.allSettled(parts);
  }
}

/** Reads the log into the backlog, from where that begins. @throws what the log throws */
async function readAhead(
  { eventStore, projections, log }: FollowDeps,
  backlog: ReadAhead,
  signal: AbortSignal,
): Promise<void> {
  const after = backlog.passedTo;
  const tenants = new ProjectedTenants(eventStore);
  const streamPrefixes = [...new Set(projections.flatMap((projection) => projection.streamPrefixes))];
  let position = after;
  for await (const slice of eventStore.subscribe({ after, streamPrefixes, signal })) {
    if (slice.position === position) continue;
    position = slice.position;
    const place = log === undefined ? undefined : anchorAt(log, slice);
    if (slice.events.length === 0) backlog.addEmpty({ steps: [], position, place });
    else backlog.add({ steps: await stepsOf(tenants, slice.events), position, place });
    while (!backlog.hasRoom && !signal.aborted) await backlog.change();
  }
}

/** @throws what an engine throws */
async function applyUntil(
  { writer, projections, writing, onParked, onTraces, onTurn }: FollowDeps,
  backlog: ReadAhead,
  until: Position,
  signal: AbortSignal,
): Promise<void> {
  const parts = { writer, projections, backlog };
  let before = NO_LONG_EVENTS;
  while (!signal.aborted) {
    if (backlog.isEmpty) await backlog.change();
    if (backlog.isEmpty || signal.aborted) continue;
    const take = () => writing.add(() => takeTurn(parts, before));
    const turn = await tellTraces(
      onTraces,
      () => backlog.look().slices.flatMap(({ steps }) => steps.map(({ event }) => event)),
      take,
    );
    onTurn?.(turn);
    for (const each of turn.parked) onParked?.(each);
    backlog.passed(turn.position);
    if (turn.position >= until) return;
    before = turn.longEvents;
  }
}

/** In one transaction. */
async function takeTurn(parts: BatchDeps, before: LongEvents): Promise<ProjectionBatch> {
  const { writer, projections, backlog } = parts;
  const look = backlog.look();
  const steps = () => look.slices.flatMap((slice) => slice.steps);
  let turn: ProjectionBatch | undefined;
  const write = async (failures: Failures) => {
    // Of a try that failed nothing goes on.
    turn = await ProjectionBatch.begin(parts, look, failures, turn === undefined ? before : NO_LONG_EVENTS);
    return turn.apply();
  };
  await inTransactionWithout(writer, { projections, steps }, write, look.slices.at(-1)?.place);
  if (turn === undefined) throw new Error('A transaction was committed in which nothing was done.');
  return turn;
}

/** Those that are new, or that another version has written, are filled from the log, and not read until they hold it all. */
async function startFilling(
  deps: Pick<FollowDeps, 'eventStore' | 'writer' | 'projections' | 'writing'>,
  signal: AbortSignal,
): Promise<void> {
  const { eventStore, writer, writing } = deps;
  const head = await eventStore.head();
  if ((await findUnfilled(deps, head)).unread.size === 0) return;
  const old = await writing.add(async () => {
    let found: readonly Projection[] = [];
    await inTransaction(writer, async () => {
      // Again under the lock: another process may have begun to fill them since, and put back they would be filled twice.
      const unfilled = await findUnfilled(deps, head);
      found = unfilled.old;
      return unfilled.unread;
    });
    return found;
  });
  if (old.length === 0) return;
  // Before anything of it is thrown away, every process has seen that it may not be read.
  await sleep(2 * MARKS_SEEN_MS, signal);
  if (signal.aborted) return;
  for (const { name } of old) await writing.add(() => writer.reset(name));
}

/** What another version has written, and the marks and checkpoints that say what may not be read. */
async function findUnfilled({ writer, projections }: Pick<FollowDeps, 'writer' | 'projections'>, head: Position) {
  const old: Projection[] = [];
  const unread = new Map<string, Position>();
  for (const projection of projections) {
    const written = await writer.checkpoint(versionMark(projection));
    const isOld = written !== 0 && written !== projection.version;
    if (isOld) old.push(projection);
    if (isOld || (await writer.checkpoint(projection.name)) === 0) {
      unread.set(filledAt(projection.name), head).set(projection.name, 0);
    }
  }
  return { old, unread };
}
