/** Makes the events of a batch: one for each `_batch_id`, or several when one would be too large. */
import type { Fields } from '../assetTypes/fieldTypes.js';
import { charactersOf } from '../jsonSize.js';
import { type BatchUpserted, packIds } from './events.js';

/** An event has at most three bytes for each, well below the size limit of one. */
const PART_CHARACTERS = 200_000;

/** What happens to one record. `batchId` undefined: a new record has none, and a known one keeps its own. */
export type BatchChange = { readonly batchId: string | null | undefined; readonly id: string } & (
  | { readonly kind: 'created'; readonly fields: Fields }
  | { readonly kind: 'changed'; readonly set: Fields }
  | { readonly kind: 'seen' }
);

/** @param undoes revision of the clean-up that the events undo */
export function batchEvents(changes: readonly BatchChange[], undoes?: number): readonly BatchUpserted[] {
  const batchIds = [...new Set(changes.map(({ batchId }) => batchId))];
  return batchIds.flatMap((batchId) =>
    inParts(changes.filter((change) => change.batchId === batchId)).map((part) => ({
      type: 'BatchUpserted',
      data: {
        ...(batchId === undefined ? {} : { batchId }),
        created: part.flatMap((each) => (each.kind === 'created' ? [{ id: each.id, fields: each.fields }] : [])),
        changed: part.flatMap((each) => (each.kind === 'changed' ? [{ id: each.id, set: each.set }] : [])),
        seen: packIds(part.flatMap((each) => (each.kind === 'seen' ? [each.id] : []))),
        ...(undoes === undefined ? {} : { undoes }),
      },
    })),
  );
}

/** The records in parts, each of which fits into an event. */
export function inParts<Each>(records: readonly Each[]): readonly (readonly Each[])[] {
  const parts: Each[][] = [];
  let characters = PART_CHARACTERS;
  for (const record of records) {
    characters += charactersOf(record);
    if (characters > PART_CHARACTERS) {
      parts.push([]);
      characters = charactersOf(record);
    }
    parts.at(-1)?.push(record);
  }
  return parts;
}
