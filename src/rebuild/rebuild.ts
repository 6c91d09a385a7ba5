/**
 * Rebuilds read models beside the live ones: fills a hidden copy from the log while the live one serves and continues,
 * and swaps them in one step when both are at the same position. Projections have no side effects, so no webhook is
 * sent again.
 */

import { setImmediate as pause } from 'node:timers/promises';
import type { EventStore, Position } from '../ports/eventStore.js';
import { acceptFound, findLog, projectedAnchor } from '../ports/logAnchor.js';
import type { Difference, ProofPart } from '../ports/readModelProof.js';
import type {
  ReadModelRebuild,
  ReadModelWriter,
  RebuildableReadModels,
  RebuildScope,
} from '../ports/readModelWriter.js';
import { projections } from '../projector/projections.js';
import { type Applied, Replay } from './replay.js';

export type RebuildDeps = { readonly eventStore: EventStore; readonly writer: ReadModelWriter & RebuildableReadModels };

export type RebuildProgress = Applied & { readonly position: Position; readonly head: Position };

export type RebuildReport = RebuildScope &
  Applied & {
    readonly position: Position;
    /** Positions between the rebuilt read model and the head of the log. */
    readonly behind: number;
    readonly seconds: number;
  };

const PUT_BACK =
  'The event log was put back to an older copy than the read models were made of. Start the service: it rebuilds them.';

/** Positions between copy and live read model below which the live one is held for the rest. */
const CLOSE = 200;

/**
 * @param signal stops the rebuild: the copy is discarded, and another rebuild can begin at once
 * @throws UnappliedEventError; UnprovenCopyError; the signal's reason; what an engine throws. On any failure the copy
 *   is discarded and the live read model stays.
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
 * @param passOver tenants whose events are skipped
 * @throws Error if the read models belong to another log; RebuildInProgressError
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

/** A rebuilt table would be further than the parked rest of its tenant. @throws Error */
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

const MOST_SHOWN = 3;

/** The copy does not match what was written to it. The live read model stays as it was. */
export class UnprovenCopyError extends Error {
  override readonly name = 'UnprovenCopyError';
  constructor(differences: readonly Difference[]) {
    const shown = differences
      .slice(0, MOST_SHOWN)
      .map(({ tenant, table, place, record, detail }) =>
        [[tenant, table, place, record].filter((each) => each !== null).join(' '), detail].join(': '),
      );
    const more = differences.length - shown.length;
    super(
      `What was rebuilt does not stand the proof. ${shown.join(' ')}${more > 0 ? ` And ${more} more.` : ''} The live read model stays as it was.`,
    );
  }
}

/**
 * The proof that a rebuild ends with, of the copy by itself: indexes, counts and all derived data match the records.
 * @param keep called in between, to show that the rebuild is alive
 * @throws UnprovenCopyError for the first part that differs; the signal's reason
 */
async function proveCopy(copy: ReadModelRebuild, keep: () => Promise<void>, signal: AbortSignal): Promise<void> {
  for (const part of await copy.proof.parts()) {
    let records = 0;
    let after: string | undefined;
    do {
      signal.throwIfAborted();
      await keep();
      const slice = await copy.proof.slice(part, { subject: 'copy', after });
      if (slice.differences.length > 0) throw new UnprovenCopyError(slice.differences);
      records += slice.records;
      after = slice.next;
      // Lets other work of this thread run.
      await pause();
    } while (after !== undefined);
    const { differences, counted = records } = await copy.proof.structure(part, { subject: 'copy' });
    if (differences.length > 0) throw new UnprovenCopyError(differences);
    if (counted !== records) throw new UnprovenCopyError([miscounted(part, counted, records)]);
  }
}

const miscounted = (part: ProofPart, counted: number, records: number): Difference => ({
  ...part,
  place: 'catalog',
  record: null,
  kind: 'different',
  detail: `It counts ${counted} records, and there are ${records}.`,
});
