/** How far projections have come, and which version of each it was. */
import type { Position } from '../ports/eventStore.js';
import type { Projection } from '../ports/projection.js';
import type { ReadModelWriter } from '../ports/readModelWriter.js';

export async function readCheckpoints(
  writer: Pick<ReadModelWriter, 'checkpoint'>,
  projections: readonly Projection[],
): Promise<ReadonlyMap<string, Position>> {
  const entries = projections.map(async ({ name }) => [name, await writer.checkpoint(name)] as const);
  return new Map(await Promise.all(entries));
}

/** The version that wrote a projection stands beside its checkpoint. */
export const versionMark = (projection: Projection): string => `${projection.name}.version`;

/** Beside the checkpoints: while a projection is before this position, all of them are being rebuilt, and nobody reads them. */
export const ALL_FILLED_AT = 'whole-from';
/** The same of one projection. */
export const filledAt = (projection: string): string => `${projection}.whole-from`;

/** A process that reads notices such a mark within this time, in milliseconds. */
export const MARKS_SEEN_MS = 1_000;

/** What was passed is to be applied again, and whoever has let go of it must read the log anew. */
export class PutBackError extends Error {
  override readonly name = 'PutBackError';
}

/** @throws PutBackError where another process has put a projection back, to write it anew, behind what this one has passed */
export function requireNotPutBack(checkpoints: ReadonlyMap<string, Position>, passedTo: Position): void {
  for (const [projection, position] of checkpoints) {
    if (position >= passedTo) continue;
    throw new PutBackError(
      `Another process has put the projection ${projection} back to position ${position}: this one, which has passed ${passedTo}, reads the log from there.`,
    );
  }
}

/** What a commit writes: no checkpoint goes back. */
export function reached(
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
