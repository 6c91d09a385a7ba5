/**
 * Keeps the read models current: reads the log from the lowest checkpoint on, applies each event to each
 * projection that has not seen it, and commits what a slice changed together with the checkpoints.
 */
import PQueue from 'p-queue';
import type { EventSlice, EventStore, KeptPlace, Position } from '../ports/eventStore.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';
import { keptPlace } from './keptPlace.js';
import { inTransaction, ProjectedTenants, type Projection } from './projection.js';
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
  for (const projection of projections) await writing.add(() => resetOldVersion(writer, projection));
  const checkpoints = await readCheckpoints(writer, projections);
  const furthest = Math.max(...checkpoints.values());
  // One that is new, or written anew, catches up first: the others need not read the log again for it.
  const behind = projections.filter(({ name }) => (checkpoints.get(name) ?? 0) < furthest);
  if (behind.length > 0) await follow({ ...deps, writing, projections: behind }, furthest, signal);
  await follow({ ...deps, writing, log }, Number.POSITIVE_INFINITY, signal);
}

type FollowDeps = Required<Pick<RunnerDeps, 'eventStore' | 'writer' | 'projections' | 'writing'>> & {
  /** Id of the log, where all projections are at one place of it. */
  readonly log?: string;
};

/** Projects what is in the log, and what comes, until the position or the signal's abort. */
async function follow(
  { eventStore, writer, projections, writing, log }: FollowDeps,
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
    await tenants.prepare(slice.events);
    const place = log === undefined ? undefined : keptPlace(log, slice);
    await writing.add(() => projectSlice(writer, projections, tenants, slice, place));
    committed = slice.position;
    if (committed >= until) return;
  }
}

async function projectSlice(
  writer: ReadModelWriter,
  projections: readonly Projection[],
  tenants: ProjectedTenants,
  slice: EventSlice,
  place: KeptPlace | undefined,
): Promise<void> {
  const write = async (): Promise<ReadonlyMap<string, Position>> => {
    // Read again under the lock: another process may project the same log, and a rebuild may have swapped.
    const checkpoints = await readCheckpoints(writer, projections);
    for (const event of slice.events) {
      const tenant = tenants.evolve(event);
      if (tenant === undefined) continue;
      for (const projection of projections) {
        const seen = (checkpoints.get(projection.name) ?? 0) >= event.position;
        if (seen || !projection.streamPrefixes.some((prefix) => event.stream.startsWith(prefix))) continue;
        await projection.apply(event, tenant, writer).catch((error: unknown) => {
          throw new ProjectionError(projection.name, event.position, event.type, { cause: error });
        });
      }
    }
    return reached(checkpoints, projections, slice.position);
  };
  await inTransaction(writer, write, place);
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

async function resetOldVersion(writer: ReadModelWriter, projection: Projection): Promise<void> {
  const written = await writer.checkpoint(versionMark(projection));
  if (written !== 0 && written !== projection.version) await writer.reset(projection.name);
}

/** An event that a projection cannot apply: it stops there, and says where. */
export class ProjectionError extends Error {
  override readonly name = 'ProjectionError';
  constructor(
    readonly projection: string,
    readonly position: Position,
    eventType: string,
    options: ErrorOptions,
  ) {
    super(`The projection ${projection} cannot apply ${eventType} at position ${position}.`, options);
  }
}
