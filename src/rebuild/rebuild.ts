/**
 * Rebuilds read models beside the live ones: a hidden copy is filled from the log while the live one serves
 * and goes on, and takes its place in one step when both are at the same position. Nothing else hears of
 * the replayed events: projections have no side effects, so no webhook is sent again.
 */

import type { EventStore, Position } from '../ports/eventStore.js';
import { acceptFound, findLog, projectedAnchor } from '../ports/logAnchor.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '../ports/readModelWriter.js';
import { projections } from '../projector/projections.js';
import { proveCopy } from './proveCopy.js';
import { type Applied, Replay } from './replay.js';

export type RebuildDeps = { readonly eventStore: EventStore; readonly writer: ReadModelWriter & RebuildableReadModels };

export type RebuildProgress = Applied & { readonly position: Position; readonly head: Position };

export type RebuildReport = RebuildScope &
  Applied & {
    readonly position: Position;
    /** Positions of the log that the live read model has not reached, and so the one that took its place neither. */
    readonly behind: number;
    readonly seconds: number;
  };

const PUT_BACK =
  'The event log was put back to an older copy than the read models were made of. Start the service: it builds them anew.';

/** Close enough to the live one to hold it still for the rest. */
const CLOSE = 200;

/**
 * @param signal stops it: the copy is thrown away, and another rebuild can begin at once
 * @throws UnappliedEventError; UnprovenCopyError; the signal's reason; what an engine throws. The copy is thrown away and
 *   the live one stays when anything fails.
 */
export async function rebuildProjection(
  deps: RebuildDeps,
  scope: RebuildScope,
  onProgress: (progress: RebuildProgress) => void = () => {},
  signal: AbortSignal = new AbortController().signal,
): Promise<RebuildReport> {
  await refusePartOfParked(deps.writer, scope);
  const started = performance.now();
  const { copy, replay } = await beginCopy(deps, scope, signal);
  try {
    await catchUp(deps, scope, replay, onProgress);
    await proveCopy(copy, () => replay.keep(), signal);
    await catchUp(deps, scope, replay, onProgress);
    const position = await copy.holdLive();
    await replay.finish(position);
    signal.throwIfAborted();
    await copy.swap().catch((error: unknown) => {
      throw replay.named(error);
    });
    onProgress({ ...replay.applied, position, head: position });
    const behind = Math.max(0, (await deps.eventStore.head()) - position);
    return { ...scope, ...replay.applied, position, behind, seconds: (performance.now() - started) / 1000 };
  } catch (error) {
    await copy.abandon();
    throw error;
  }
}

export type FilledCopy = { readonly copy: ReadModelRebuild; readonly replay: Replay };

/**
 * Begins to fill a hidden copy.
 * @param passOver tenants whose events are not applied
 * @throws Error where the log is not that of the read models; RebuildInProgressError
 */
export async function beginCopy(
  deps: RebuildDeps,
  scope: RebuildScope,
  signal: AbortSignal,
  passOver: ReadonlySet<string> = new Set(),
): Promise<FilledCopy> {
  const projection = projections.find(({ name }) => name === scope.projection);
  if (projection === undefined) throw new Error(`There is no projection ${scope.projection}.`);
  const found = await findLog(deps.eventStore, await projectedAnchor(deps.writer, projections));
  acceptFound(found, 'The read models', false);
  if (found !== 'same') throw new Error(PUT_BACK);
  signal.throwIfAborted();
  const copy = await deps.writer.beginRebuild(scope);
  return { copy, replay: new Replay(deps.eventStore, projection, scope, copy, { signal, passOver }) };
}

/** Fills the copy until it is close to the live one. */
export async function catchUp(
  { writer }: RebuildDeps,
  { projection }: RebuildScope,
  replay: Replay,
  onProgress: (progress: RebuildProgress) => void,
): Promise<void> {
  for (;;) {
    const live = await writer.checkpoint(projection);
    await replay.advance(live, (position) => onProgress({ ...replay.applied, position, head: live }));
    if ((await writer.checkpoint(projection)) - live < CLOSE) return;
  }
}

/** One table would be further than the others of a tenant that goes on from where it is parked. @throws Error */
async function refusePartOfParked(
  writer: Pick<ReadModelWriter, 'parked'>,
  { projection, tenant, table }: RebuildScope,
): Promise<void> {
  if (table === undefined) return;
  const parked = await writer.parked();
  if (parked.some((each) => each.tenant === tenant && each.projection === projection)) {
    throw new Error(`The ${projection} of ${tenant} are parked: rebuild all of them, without --table.`);
  }
}
