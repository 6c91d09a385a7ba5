/** The proof of histories of orders and of delivery logs: each entry and the keys beside it. */
import type { Collection } from 'mongodb';
import type { DeliveryLogEntry } from '../../../../ports/deliveryLog.js';
import { instant } from '../../shared/deliveryLog.js';
import { type Comparison, isStored, parsed, saySame } from '../../shared/proof.js';
import type { HistoryDocument } from '../catalog.js';
import { documentOf } from '../deliveries.js';

/** A stored document, which may be damaged. */
export type EntryDocument = { readonly _id: string; readonly [name: string]: unknown };
export type EntryRow = { readonly key: string; readonly document: EntryDocument };

/** In the order of ids, behind `after`. */
export async function* entryRows(collection: Collection<EntryDocument>, after = ''): AsyncGenerator<EntryRow> {
  const found = collection.find({ _id: { $gt: after } }, { sort: { _id: 1 }, batchSize: 500 });
  for await (const document of found) yield { key: document._id, document };
}

const textOf = ({ document }: EntryRow): string => String(document.e ?? '');

export const sizeOf = (row: EntryRow): number => textOf(row).length + 100;

/** Keys of the document that differ from its entry. */
function mismatches({ document }: EntryRow, expected: object): readonly string[] {
  return Object.entries(expected).flatMap(([name, value]) =>
    name === 'e' || isStored(value, document[name]) ? [] : [name],
  );
}

const mismatching = (place: string, record: string, wrong: readonly string[]) =>
  wrong.length === 0
    ? []
    : [{ place, record, kind: 'different' as const, detail: `Keys that do not fit the entry: ${wrong.join(', ')}.` }];

const unreadable = (place: string, record: string) => [
  { place, record, kind: 'different' as const, detail: 'The entry is no JSON.' },
];

export const historyComparison = (place: string): Comparison<EntryRow> => ({
  place,
  nameOf: ({ key }) => key.replace('.', ' '),
  changed: (live, copy) => (saySame(textOf(live), textOf(copy)) ? [] : ['the entry']),
  itself(row) {
    const name = row.key.replace('.', ' ');
    const entry = parsed(textOf(row));
    if (typeof entry !== 'object' || entry === null || !('revision' in entry)) return unreadable(place, name);
    const n = Number(entry.revision);
    const [o = ''] = row.key.split('.');
    const expected: Omit<HistoryDocument, 'e'> = { _id: `${o}.${n}`, o, n };
    return mismatching(place, name, mismatches(row, expected));
  },
});

const isWebhook = ({ key }: EntryRow): boolean => key.startsWith('w.');

/** A delivery log has deliveries and, in the same collection, the health of each webhook. */
export const deliveryComparison = (place: string, droppedBefore: string | undefined): Comparison<EntryRow> => ({
  place,
  nameOf: ({ key }) => key.slice('d.'.length),
  changed: (live, copy) =>
    isWebhook(live)
      ? ['ok', 'bad'].filter((name) => (live.document[name] ?? null) !== (copy.document[name] ?? null))
      : saySame(textOf(live), textOf(copy))
        ? []
        : ['the entry'],
  itself(row) {
    if (isWebhook(row)) return [];
    const entry = parsed(textOf(row)) as DeliveryLogEntry | undefined;
    const name = row.key.slice('d.'.length);
    return entry === undefined ? unreadable(place, name) : mismatching(place, name, mismatches(row, documentOf(entry)));
  },
  mayBeMissing: ({ document: { x } }) =>
    droppedBefore !== undefined && typeof x === 'number' && x < instant(droppedBefore),
});
