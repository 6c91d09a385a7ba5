/** The events of a batch: one for each `_batch_id`, cut where it would be too large. */
import { type Fields, ownValue } from '../assetTypes/fieldTypes.js';
import { type BatchUpserted, packIds } from './events.js';

/** A batch upsert's parts stay well under the limit of one event. */
const PART_BYTES = 400_000;

type Part = {
  readonly created: { id: string; fields: Fields }[];
  readonly changed: { id: string; set: Fields }[];
  readonly seen: string[];
};

/** Groups the items of a batch by their `_batch_id` and cuts groups that are too large for one event. */
export class BatchParts {
  readonly #groups = new Map<string | null | undefined, Part>();

  of(batchId: string | null | undefined): Part {
    let part = this.#groups.get(batchId);
    if (part === undefined) {
      part = { created: [], changed: [], seen: [] };
      this.#groups.set(batchId, part);
    }
    return part;
  }

  /** @param undoes revision of the clean-up that they undo */
  toEvents(undoes?: number): BatchUpserted[] {
    return [...this.#groups].flatMap(([batchId, part]) =>
      cut(part).map((piece) => ({
        type: 'BatchUpserted' as const,
        data: {
          ...(batchId === undefined ? {} : { batchId }),
          created: piece.created,
          changed: piece.changed,
          seen: packIds(piece.seen),
          ...(undoes === undefined ? {} : { undoes }),
        },
      })),
    );
  }
}

function cut(part: Part): Part[] {
  const pieces: Part[] = [];
  let piece: Part = { created: [], changed: [], seen: part.seen };
  let bytes = part.seen.length * 22;
  const room = (size: number): Part => {
    if (bytes > 0 && bytes + size > PART_BYTES) {
      pieces.push(piece);
      piece = { created: [], changed: [], seen: [] };
      bytes = 0;
    }
    bytes += size;
    return piece;
  };
  for (const created of part.created) room(estimateBytes(created.fields)).created.push(created);
  for (const changed of part.changed) room(estimateBytes(changed.set)).changed.push(changed);
  pieces.push(piece);
  return pieces;
}

/** Upper bound of the JSON bytes of some fields, without making the JSON: text counts three bytes a character. */
function estimateBytes(fields: Fields): number {
  let bytes = 64;
  for (const name of Object.keys(fields)) {
    const value = ownValue(fields, name);
    bytes +=
      name.length +
      8 +
      (typeof value === 'string' ? value.length * 3 : Array.isArray(value) ? JSON.stringify(value).length * 3 : 24);
  }
  return bytes;
}
