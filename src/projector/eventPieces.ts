/** Cuts an event that takes long to project into pieces, so that other events can go between. */
import type { RecordChange } from '../domain/referenceTable/changes.js';
import type { Projection, ProjectionTarget } from '../ports/projection.js';
import type { StepwiseWriter } from '../ports/readModelWriter.js';
import type { Step } from './steps.js';
import { changeWeight } from './weight.js';

/** The weight of one piece: some ten milliseconds of work. A record is never cut: the largest weighs half as much again. */
export const PIECE_WEIGHT = 100;

/** Records that one piece of a clean-up deletes: fewer would write index pages too often, more would hold up others. */
const CLEAN_UP_RECORDS = 250;

export type PieceTarget = ProjectionTarget & Pick<StepwiseWriter, 'cleanUpSome'>;

/** Call it until it returns `done`. */
export type Piece = (target: PieceTarget) => Promise<'done' | 'more'>;

/** @throws what the projection throws */
export async function piecesOf(projection: Projection, { event, known }: Step): Promise<readonly Piece[]> {
  const pieces: Piece[] = [];
  const keep = async (write: (target: PieceTarget) => Promise<unknown>): Promise<void> => {
    pieces.push(async (target) => {
      await write(target);
      return 'done';
    });
  };
  const recorder: ProjectionTarget = {
    defineTable: (...args) => keep((target) => target.defineTable(...args)),
    applyToTable: async (table, changes, of) => {
      // The table reaches the event's revision with the last piece.
      const before = { ...of, revision: of.revision - 1 };
      for (const part of partsOf(changes)) {
        const [cleanUp] = part;
        if (cleanUp?.kind === 'cleanUp')
          pieces.push(cleanUpPiece(table, { batchId: cleanUp.batchId, revision: of.revision }, before));
        else await keep((target) => target.applyToTable(table, part, before));
      }
      await keep((target) => target.applyToTable(table, [], of));
    },
    addHistory: (...args) => keep((target) => target.addHistory(...args)),
    addActivity: (...args) => keep((target) => target.addActivity(...args)),
    putDelivery: (...args) => keep((target) => target.putDelivery(...args)),
    dropTenant: (...args) => keep((target) => target.dropTenant(...args)),
    delivery: () => Promise.reject(new Error(`${event.type} cannot be applied in pieces.`)),
  };
  const tenant = known();
  if (tenant !== undefined) await projection.apply(event, tenant, recorder);
  return pieces;
}

type CleanUpArgs = Parameters<StepwiseWriter['cleanUpSome']>;

function cleanUpPiece(
  table: CleanUpArgs[0],
  cleanUp: Pick<CleanUpArgs[1], 'batchId' | 'revision'>,
  event: CleanUpArgs[2],
): Piece {
  let after: number | undefined;
  return async (target) => {
    after = await target.cleanUpSome(table, { ...cleanUp, limit: CLEAN_UP_RECORDS, after }, event);
    return after === undefined ? 'done' : 'more';
  };
}

/** Splits changes in order into parts of at most PIECE_WEIGHT; a clean-up is a part of its own, and so is a heavier change. */
function partsOf(changes: readonly RecordChange[]): readonly (readonly RecordChange[])[] {
  const parts: RecordChange[][] = [];
  let room = 0;
  for (const change of changes.flatMap(inPieces)) {
    const weight = changeWeight(change);
    if (change.kind === 'cleanUp' || weight > room) {
      parts.push([]);
      room = PIECE_WEIGHT;
    }
    parts.at(-1)?.push(change);
    room = change.kind === 'cleanUp' ? 0 : room - weight;
  }
  return parts;
}

function inPieces(change: RecordChange): readonly RecordChange[] {
  if (change.kind !== 'seen') return [change];
  const { ids, ...rest } = change;
  const count = Math.ceil(ids.length / PIECE_WEIGHT);
  return Array.from({ length: count }, (_, index) => ({
    ...rest,
    ids: ids.slice(index * PIECE_WEIGHT, (index + 1) * PIECE_WEIGHT),
  }));
}
