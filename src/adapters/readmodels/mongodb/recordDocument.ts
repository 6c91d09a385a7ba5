/** How a record is stored, and put together again. */
import type { RecordJson, StoredRecord } from '../../../ports/readModels.js';
import type { RecordText } from '../shared/recordText.js';
import type { IndexedValues } from './layout.js';

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
  /** How many fields of the asset type `d` covers: fewer than there are when some were added later. */
  w: number;
  /** The record's own fields as JSON text without braces: `"name":"Rotterdam","notes":null`. */
  d: string;
  [indexed: string]: IndexedValues[string];
};

/** The keys that make up the record itself. */
export const WHOLE_RECORD = { r: 1, c: 1, u: 1, b: 1, w: 1, d: 1 } as const;
export type WholeRecord = Pick<RecordDocument, '_id' | keyof typeof WHOLE_RECORD>;

export const storedRecord = (text: RecordText, { _id, c, u, b, w, d }: WholeRecord): StoredRecord => ({
  id: _id,
  createdAt: c,
  updatedAt: u,
  batchId: b,
  fields: text.fields(w, d),
});

export const recordJson = (text: RecordText, { _id, c, u, w, d }: WholeRecord): RecordJson =>
  text.json(_id, c, u, w, d);
