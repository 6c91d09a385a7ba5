/** Makes the events of a batch, or of its undo: one for each `_batch_id`, or several when one would be too large. */
import { type Fields, type FieldValue, ownValue } from '../assetTypes/fieldTypes.js';
import { type BatchUndone, type BatchUpserted, packIds, type Run } from './events.js';

/** Well below the size limit of one event. */
const PART_BYTES = 400_000;

/** Changes under one batch id. `from`: the batch id that the record had before. */
type BatchPart = {
  readonly created: { id: string; fields: Fields }[];
  readonly changed: { id: string; set: Fields; was: readonly FieldValue[]; from: string | null }[];
  readonly seen: { id: string; from: string | null }[];
};

const emptyPart = (): BatchPart => ({ created: [], changed: [], seen: [] });

/** Groups the items of a batch by their `_batch_id`, and cuts groups that are too large for one event. */
export class BatchParts {
  readonly #groups = new Map<string | null | undefined, BatchPart>();

  of(batchId: string | null | undefined): BatchPart {
    let part = this.#groups.get(batchId);
    if (part === undefined) {
      part = emptyPart();
      this.#groups.set(batchId, part);
    }
    return part;
  }

  /** @param undoes revision of the clean-up that the events undo */
  toEvents(undoes?: number): BatchUpserted[] {
    return this.#pieces(({ batchId, created, changed, seen }) => ({
      type: 'BatchUpserted' as const,
      data: {
        ...batchId,
        created,
        changed: changed.map(({ id, set, was }) => ({ id, set, was })),
        seen: packIds(seen.map(({ id }) => id)),
        ...('batchId' in batchId && changed.length + seen.length > 0 ? { from: runsOf([...changed, ...seen]) } : {}),
        ...(undoes === undefined ? {} : { undoes }),
      },
    }));
  }

  /**
   * @param undoes revision of the batch that the events undo
   * @param deleted ids of the records that the batch had created
   */
  toUndo(undoes: number, deleted: readonly string[]): BatchUndone[] {
    if (deleted.length > 0 && this.#groups.size === 0) this.of(undefined);
    return this.#pieces(({ batchId, changed, seen }, index) => ({
      type: 'BatchUndone' as const,
      data: {
        undoes,
        ...batchId,
        changed: changed.map(({ id, set }) => ({ id, set })),
        seen: packIds(seen.map(({ id }) => id)),
        deleted: index === 0 ? packIds(deleted) : '',
      },
    }));
  }

  #pieces<Event>(
    toEvent: (piece: BatchPart & { batchId: { batchId?: string | null } }, index: number) => Event,
  ): Event[] {
    return [...this.#groups]
      .flatMap(([id, part]) =>
        cut(part).map((piece) => ({ ...piece, batchId: id === undefined ? {} : { batchId: id } })),
      )
      .map(toEvent);
  }
}

function cut(part: BatchPart): BatchPart[] {
  const pieces: BatchPart[] = [];
  let piece = emptyPart();
  let bytes = 0;
  let before: string | null | undefined;
  const room = (size: number, from = before): BatchPart => {
    const needed = size + (from === before ? 0 : 16 + (from ?? '').length * 3);
    before = from;
    if (bytes > 0 && bytes + needed > PART_BYTES) {
      pieces.push(piece);
      piece = emptyPart();
      bytes = 0;
    }
    bytes += needed;
    return piece;
  };
  for (const seen of part.seen) room(22, seen.from).seen.push(seen);
  for (const created of part.created) room(estimateBytes(created.fields)).created.push(created);
  for (const changed of part.changed) {
    room(estimateBytes(changed.set) + estimateValues(changed.was), changed.from).changed.push(changed);
  }
  pieces.push(piece);
  return pieces;
}

/** Run-length encoded: records of one batch mostly had one batch id before, too. */
function runsOf(records: readonly { readonly from: string | null }[]): Run[] {
  const runs: [number, string | null][] = [];
  for (const { from } of records) {
    const last = runs.at(-1);
    if (last?.[1] === from) last[0] += 1;
    else runs.push([1, from]);
  }
  return runs;
}

/** An upper bound of the JSON bytes of fields, without making the JSON. */
function estimateBytes(fields: Fields): number {
  let bytes = 64;
  for (const name of Object.keys(fields)) bytes += name.length + 8 + estimateValue(ownValue(fields, name));
  return bytes;
}

const estimateValues = (values: readonly FieldValue[]): number =>
  values.reduce<number>((bytes, value) => bytes + 4 + estimateValue(value), 0);

/** Text counts three bytes a character. */
const estimateValue = (value: FieldValue | undefined): number =>
  typeof value === 'string' ? value.length * 3 : Array.isArray(value) ? JSON.stringify(value).length * 3 : 24;
