/** How a record is stored, put together again, and changed. */
import type { AssetType } from '../../../domain/assetTypes/assetType.js';
import type { Fields } from '../../../domain/assetTypes/fieldTypes.js';
import type { RecordChange } from '../../../domain/referenceTable/changes.js';
import type { Position, Revision } from '../../../ports/eventStore.js';
import type { FieldOrder, RecordJson, StoredRecord } from '../../../ports/readModels.js';
import { RecordText, storedId } from '../shared/recordText.js';
import {
  type IndexedValues,
  indexedValues,
  layoutOf,
  type StoredShape,
  storedFields,
  type TableLayout,
} from './layout.js';

/** Beside these a document has `f<n>` and `m<n>` of its fields, and `g`, its n-grams (see layout.ts). */
export type RecordDocument = {
  /** The UUID, in lower case. */
  _id: string;
  /** Revision of the last event applied to it, in the one stream that it belongs to. */
  r: number;
  /** created_at, updated_at. */
  c: string;
  u: string;
  /** Batch id. */
  b: string | null;
  /** How many fields of the layout `d` covers: fewer than there are when some were added later. */
  w: number;
  /** The record's own fields as JSON text without braces: `"name":"Rotterdam","notes":null`. */
  d: string;
  [indexed: string]: IndexedValues[string];
};

/** The keys that make up the record itself. */
export const WHOLE_RECORD = { r: 1, c: 1, u: 1, b: 1, w: 1, d: 1 } as const;
export type WholeRecord = Pick<RecordDocument, '_id' | keyof typeof WHOLE_RECORD>;

/** How records of one table look. */
export type TableShape = {
  readonly assetType: AssetType;
  readonly layout: TableLayout;
  readonly text: RecordText;
};

export function shapeOf(stored: StoredShape): TableShape {
  const assetType: AssetType = JSON.parse(stored.assetType);
  const layout = layoutOf(assetType, storedFields(stored));
  return { assetType, layout, text: new RecordText(layout) };
}

export const storedRecord = (text: RecordText, { _id, c, u, b, w, d }: WholeRecord): StoredRecord => ({
  id: _id,
  createdAt: c,
  updatedAt: u,
  batchId: b,
  fields: text.fields(w, d),
});

export const recordJson = (text: RecordText, { _id, c, u, w, d }: WholeRecord, order?: FieldOrder): RecordJson =>
  text.json({ id: _id, createdAt: c, updatedAt: u }, { width: w, own: d }, order);

/** A change names a record that is not there, or makes one that is: the records are not what the log says. */
export class RecordMismatchError extends Error {
  override readonly name = 'RecordMismatchError';
  constructor(
    message: string,
    /** Of the event that the change comes from. */
    readonly position: Position | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Whether changes may have been written before, as a whole or in part: those of this commit, or of one that went further. */
export type Repeated = 'not' | 'of this' | 'of more';

/** Where a change comes from. */
export type StepEvent = { readonly revision: Revision; readonly position?: Position };

/** A change of one record, and the event it comes from. */
export type RecordStep = StepEvent &
  (
    | Extract<RecordChange, { kind: 'insert' | 'patch' | 'delete' }>
    | { readonly kind: 'seen'; readonly batchId: string | null }
  );

type State = Pick<RecordDocument, 'r' | 'c' | 'u' | 'b'> & { readonly fields: Fields };

/**
 * The record after these changes.
 * @param stored the record as it is; undefined when there is none
 * @param repeated the changes may have been written before, as a whole or in part: then what the record has seen
 *   (its revision tells) is left out
 * @param goneLater such changes may have been followed by one that deleted the record: one that is missing has gone by it
 * @returns undefined when nothing is left to do
 * @throws RecordMismatchError when a change does not fit the record
 */
export function evolveRecord(
  { layout, text }: TableShape,
  id: string,
  stored: WholeRecord | undefined,
  steps: readonly RecordStep[],
  repeated: boolean,
  goneLater: boolean,
): RecordDocument | 'deleted' | undefined {
  const _id = storedId(id);
  if (_id === undefined) throw new RecordMismatchError(`${id} is no UUID.`, steps[0]?.position);
  const unseen = repeated ? steps.filter(({ revision }) => revision > (stored?.r ?? -1)) : steps;
  if (unseen.length === 0) return undefined;
  let record: State | undefined;
  if (stored !== undefined) {
    const { r, c, u, b, w, d } = stored;
    record = { r, c, u, b, fields: text.fields(w, d) };
  }
  const lastDelete = unseen.findLastIndex(({ kind }) => kind === 'delete');
  for (const [index, step] of unseen.entries()) {
    record = evolve(record, step, id, repeated && (goneLater || index <= lastDelete));
  }
  if (record === undefined) return stored === undefined ? undefined : 'deleted';
  const { fields, ...rest } = record;
  return { ...indexedValues(layout, fields), ...rest, _id, w: text.width, d: text.write(fields) };
}

function evolve(record: State | undefined, step: RecordStep, id: string, mayBeGone: boolean): State | undefined {
  const r = step.revision;
  if (step.kind === 'insert') {
    if (record !== undefined) throw new RecordMismatchError(`There is a record ${id} already.`, step.position);
    return { r, c: step.at, u: step.at, b: step.batchId, fields: step.fields };
  }
  if (record === undefined) {
    if (mayBeGone) return undefined;
    throw new RecordMismatchError(`There is no record ${id} to change.`, step.position);
  }
  if (step.kind === 'delete') return undefined;
  if (step.kind === 'seen') return { ...record, r, b: step.batchId };
  const b = step.batchId === undefined ? record.b : step.batchId;
  return { r, c: record.c, u: step.at, b, fields: { ...record.fields, ...step.set } };
}
