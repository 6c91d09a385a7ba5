/** The proof of a collection of records: each document, and the values derived from its record. */
import type { Fields } from '../../../../domain/assetTypes/fieldTypes.js';
import { type Comparison, changedFields, isStored, parsed } from '../../shared/proof.js';
import { indexedValues } from '../layout.js';
import type { Part } from '../part.js';
import type { RecordDocument, TableShape } from '../recordDocument.js';

export type RecordRow = {
  readonly key: string;
  /** The stored document, which may be damaged. */
  readonly document: RecordDocument & Partial<Pick<RecordDocument, 'd'>>;
  /** Undefined if the document's text is no JSON. */
  readonly fields: Fields;
  readonly isReadable: boolean;
};

/** In the order of ids, behind `after`. */
export async function* recordRows(
  collection: Part<RecordDocument>,
  { text }: TableShape,
  after = '',
): AsyncGenerator<RecordRow> {
  const found = collection.find({ _id: { $gt: after } }, { sort: { _id: 1 }, batchSize: 500 });
  for await (const document of found) {
    const fields = parsed(`{${text.complete(document.w, document.d ?? '')}}`) as Fields | undefined;
    yield { key: document._id, document, fields: fields ?? {}, isReadable: fields !== undefined };
  }
}

export const sizeOf = ({ document }: RecordRow): number => 3 * (document.d?.length ?? 0) + 200;

/** @param shape of the side whose documents are proven by themselves */
export const recordComparison = (place: string, { layout }: TableShape): Comparison<RecordRow> => ({
  about: ({ key }) => ({ place, record: key }),
  changed: (live, copy) =>
    live.isReadable
      ? [
          ...changedFields(recordOf(live), recordOf(copy)),
          ...(live.document.r === copy.document.r ? [] : ['the revision of its last event']),
        ]
      : [],
  itself({ key, document, fields, isReadable }) {
    const different = (detail: string) => [{ place, record: key, kind: 'different' as const, detail }];
    if (!isReadable) return different('Its text is no JSON.');
    const wrong = Object.entries(indexedValues(layout, fields)).flatMap(([name, value]) =>
      isSame(value, document[name]) ? [] : [name],
    );
    return wrong.length === 0 ? [] : different(`Keys that do not fit the record: ${wrong.join(', ')}.`);
  },
});

const recordOf = ({ document, fields }: RecordRow) => ({
  createdAt: document.c,
  updatedAt: document.u,
  batchId: document.b,
  fields,
});

/** N-grams are a set. */
function isSame(expected: unknown, stored: unknown): boolean {
  if (!Array.isArray(expected)) return isStored(expected, stored);
  if (!Array.isArray(stored) || stored.length !== expected.length) return false;
  const there = new Set(stored);
  return expected.every((ngram) => there.has(String(ngram).toWellFormed()));
}
