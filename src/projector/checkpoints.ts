/** Checkpoints of projections, and the marks beside them: version, and the position that ends filling. */
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

/** The name under which a projection's version is stored, beside its checkpoint. */
export const versionMark = (projection: Projection): string => `${projection.name}.version`;

/** While any projection is before the position stored under this name, all are being filled and none is read. */
export const ALL_FILLED_AT = 'whole-from';
/** The same for one projection. */
export const filledAt = (projection: string): string => `${projection}.whole-from`;

/** Reading processes notice such a mark within this time, in milliseconds. */
export const MARKS_SEEN_MS = 1_000;

/** A projection was reset behind the released slices: the log must be read again. */
export class PutBackError extends Error {
  override readonly name = 'PutBackError';
}

/** @throws PutBackError if another process has reset a projection behind the position that this one has passed */
export function requireNotPutBack(checkpoints: ReadonlyMap<string, Position>, passedTo: Position): void {
  for (const [projection, position] of checkpoints) {
    if (position >= passedTo) continue;
    throw new PutBackError(
      `Another process has put the projection ${projection} back to position ${position}: this one, which has passed ${passedTo}, reads the log from there.`,
    );
  }
}

/** The checkpoints and versions that a commit writes; no checkpoint goes back. */
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
