/** The document of a record: how it is written, read and changed. */
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
  withoutIndexes,
} from './layout.js';
import type { Refused } from './part.js';

/** A document also has `f<n>` and `m<n>` of its fields, and `g`, its n-grams (see layout.ts). */
export type RecordDocument = {
  /** The UUID, in lower case. */
  _id: string;
  /** Revision of the last event applied to it, in its stream. */
  r: number;
  /** created_at, updated_at. */
  c: string;
  u: string;
  /** Batch id. */
  b: string | null;
  /** How many fields of the layout `d` has: fewer than all if some were added later. */
  w: number;
  /** The record's own fields as JSON text without braces: `"name":"Rotterdam","notes":null`. */
  d: string;
  [indexed: string]: IndexedValues[string];
};

/** The keys of the record itself. */
export const WHOLE_RECORD = { r: 1, c: 1, u: 1, b: 1, w: 1, d: 1 } as const;
export type WholeRecord = Pick<RecordDocument, '_id' | keyof typeof WHOLE_RECORD>;

/** The asset type and layout of a table's records. */
export type TableShape = {
  readonly assetType: AssetType;
  readonly layout: TableLayout;
  /** The layout that it has with a collection for itself. */
  readonly large: TableLayout;
  readonly text: RecordText;
};

/** @param stored `of` as in CatalogEntry */
export function shapeOf(stored: StoredShape & { readonly of?: string | null }): TableShape {
  const assetType: AssetType = JSON.parse(stored.assetType);
  const large = layoutOf(assetType, storedFields(stored));
  const layout = stored.of ? withoutIndexes(large) : large;
  return { assetType, layout, large, text: new RecordText(layout) };
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

/** A change names a record that is missing, or creates one that exists: the records are not those of the log. */
export class RecordMismatchError extends Error {
  override readonly name = 'RecordMismatchError';
  constructor(
    message: string,
    /** Position of the change's event. */
    readonly position: Position | undefined,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The server cannot store the record as a change makes it. */
export class RecordRefusedError extends RecordMismatchError {
  constructor(
    readonly id: string,
    position: Position | undefined,
    options: ErrorOptions,
  ) {
    super(`The record ${id} cannot be stored.`, position, options);
  }
}

/** For a write that belongs to no one event. */
export const refusedRecord: Refused = (_id, options) => new RecordRefusedError(_id, undefined, options);

/** Whether changes may have been written before, all or some: by this commit, or by one that went further. */
export type Repeated = 'not' | 'of this' | 'of more';

/** The event of a change. */
export type StepEvent = { readonly revision: Revision; readonly position?: Position };

/** A change of one record, and its event. */
export type RecordStep = StepEvent &
  (
    | Extract<RecordChange, { kind: 'insert' | 'patch' | 'delete' }>
    | { readonly kind: 'seen'; readonly batchId: string | null }
  );

type State = Pick<RecordDocument, 'r' | 'c' | 'u' | 'b'> & { readonly fields: Fields };

/**
 * The record after these changes.
 * @param stored the record as it is; undefined when there is none
 * @param repeated the changes may have been written before, all or some: then those up to the record's revision are left out
 * @param goneLater such changes may have been followed by a deletion of the record: so it may be missing
 * @returns undefined if nothing is left to do
 * @throws RecordMismatchError if a change does not fit the record
 */
export function evolveRecord(
  shape: TableShape,
  id: string,
  stored: WholeRecord | undefined,
  steps: readonly RecordStep[],
  repeated: boolean,
  goneLater: boolean,
): RecordDocument | 'deleted' | undefined {
  const { text } = shape;
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
  return documentOf(shape, _id, record);
}

const documentOf = ({ layout, text }: TableShape, _id: string, { fields, ...rest }: State): RecordDocument => ({
  ...indexedValues(layout, fields),
  ...rest,
  _id,
  w: text.width,
  d: text.write(fields),
});

/** The same record in a collection of another layout. */
export const relaidRecord = (
  from: TableShape,
  to: TableShape,
  { _id, r, c, u, b, w, d }: WholeRecord,
): RecordDocument => documentOf(to, _id, { r, c, u, b, fields: from.text.fields(w, d) });

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
