/** Makes the events of a batch, or of its undo: one for each `_batch_id`, or several when one would be too large. */
import type { Fields, FieldValue } from '../assetTypes/fieldTypes.js';
import { charactersOf } from '../jsonSize.js';
import { type BatchUndone, type BatchUpserted, packIds, type Run } from './events.js';

/** An event has at most three bytes for each, well below the size limit of one. */
const PART_CHARACTERS = 200_000;

/** What happens to one record. `from`: the batch id that it had before. */
type Change =
  | { readonly kind: 'created'; readonly id: string; readonly fields: Fields }
  | {
      readonly kind: 'changed';
      readonly id: string;
      readonly from: string | null;
      readonly set: Fields;
      readonly was: readonly FieldValue[];
    }
  | { readonly kind: 'seen'; readonly id: string; readonly from: string | null };

export class BatchParts {
  readonly #byBatch = new Map<string | null | undefined, Change[]>();

  /** @param batchId undefined: new records have none, and known ones keep theirs */
  add(batchId: string | null | undefined, change: Change): void {
    const changes = this.#byBatch.get(batchId);
    if (changes === undefined) this.#byBatch.set(batchId, [change]);
    else changes.push(change);
  }

  /** @param undoes revision of the clean-up that the events undo */
  toEvents(undoes?: number): readonly BatchUpserted[] {
    return this.#parts().map(({ about, created, changed, seen }) => ({
      type: 'BatchUpserted',
      data: {
        ...about,
        created: created.map(({ id, fields }) => ({ id, fields })),
        changed: changed.map(({ id, set, was }) => ({ id, set, was })),
        seen: packIds(seen.map(({ id }) => id)),
        ...('batchId' in about && changed.length + seen.length > 0 ? { from: runsOf([...changed, ...seen]) } : {}),
        ...(undoes === undefined ? {} : { undoes }),
      },
    }));
  }

  /**
   * @param undoes revision of the batch that the events undo
   * @param deleted ids of the records that the batch had created
   */
  toUndo(undoes: number, deleted: readonly string[]): readonly BatchUndone[] {
    const parts = this.#parts();
    const first = deleted.length > 0 && parts.length === 0 ? [{ about: {}, changed: [], seen: [] }] : [];
    return [...first, ...parts].map(({ about, changed, seen }, index) => ({
      type: 'BatchUndone',
      data: {
        undoes,
        ...about,
        changed: changed.map(({ id, set }) => ({ id, set })),
        seen: packIds(seen.map(({ id }) => id)),
        deleted: index === 0 ? packIds(deleted) : '',
      },
    }));
  }

  #parts() {
    return [...this.#byBatch].flatMap(([batchId, changes]) =>
      cut(changes).map((part) => ({
        about: batchId === undefined ? {} : { batchId },
        created: part.filter((each) => each.kind === 'created'),
        changed: part.filter((each) => each.kind === 'changed'),
        seen: part.filter((each) => each.kind === 'seen'),
      })),
    );
  }
}

function cut(changes: readonly Change[]): readonly (readonly Change[])[] {
  const parts: Change[][] = [];
  let characters = PART_CHARACTERS;
  for (const change of changes) {
    characters += charactersOf(change);
    if (characters > PART_CHARACTERS) {
      parts.push([]);
      characters = charactersOf(change);
    }
    parts.at(-1)?.push(change);
  }
  return parts;
}

/** Run-length encoded: records of one batch mostly had one batch id before, too. */
function runsOf(records: readonly { readonly from: string | null }[]): readonly Run[] {
  const runs: [number, string | null][] = [];
  for (const { from } of records) {
    const last = runs.at(-1);
    if (last?.[1] === from) last[0] += 1;
    else runs.push([1, from]);
  }
  return runs;
}
