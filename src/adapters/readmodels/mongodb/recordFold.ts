/** Folds the changes that a slice makes to one record into what is written. */
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import { type RecordText, storedId } from '../shared/recordText.js';
import { indexedValues, type TableLayout } from './layout.js';
import type { RecordDocument, WholeRecord } from './recordDocument.js';
import type { RecordStep } from './slice.js';

/** A change names a record that is not there, or makes one that is: the records are not what the log says. */
export class MisfitError extends Error {
  override readonly name = 'MisfitError';
}

/** How records of one table look. */
export type TableShape = { readonly layout: TableLayout; readonly text: RecordText; readonly grams: boolean };

export type Written = { readonly isNew: boolean; readonly document: RecordDocument };

type Folded = { r: number; c: string; u: string; b: string | null; fields: Fields };

/**
 * @param stored the record as it is; undefined when there is none
 * @param repeated the slice may have been applied before, as a whole or in part: then what the record has seen
 *   (its revision tells) is left out, and a record that is missing has been swept away later on in the log
 * @returns undefined when nothing is left to do
 * @throws MisfitError when a change does not fit the record
 */
export function foldRecord(
  shape: TableShape,
  id: string,
  stored: WholeRecord | undefined,
  steps: readonly RecordStep[],
  repeated: boolean,
): Written | undefined {
  let record: Folded | undefined =
    stored === undefined
      ? undefined
      : { r: stored.r, c: stored.c, u: stored.u, b: stored.b, fields: shape.text.fields(stored.w, stored.d) };
  const fresh = repeated ? steps.filter(({ revision }) => revision > (stored?.r ?? -1)) : steps;
  if (fresh.length === 0) return undefined;
  for (const step of fresh) {
    record = applied(record, step, id, repeated);
  }
  if (record === undefined) return undefined;
  const { fields, ...rest } = record;
  const document = {
    ...indexedValues(shape.layout, fields, shape.grams),
    ...rest,
    _id: checkedId(id),
    w: shape.text.width,
    d: shape.text.write(fields),
  };
  return { isNew: stored === undefined, document };
}

function applied(record: Folded | undefined, step: RecordStep, id: string, repeated: boolean): Folded | undefined {
  if (step.kind === 'insert') {
    if (record !== undefined) throw new MisfitError(`There is a record ${id} already.`);
    return { r: step.revision, c: step.at, u: step.at, b: step.batchId, fields: step.fields };
  }
  if (record === undefined) {
    if (repeated) return undefined;
    throw new MisfitError(`There is no record ${id} to change.`);
  }
  const r = step.revision;
  if (step.kind === 'seen') return { ...record, r, b: step.batchId };
  const b = step.batchId === undefined ? record.b : step.batchId;
  return { r, c: record.c, u: step.at, b, fields: { ...record.fields, ...step.set } };
}

function checkedId(id: string): string {
  const stored = storedId(id);
  if (stored === undefined) throw new MisfitError(`${id} is no UUID.`);
  return stored;
}
