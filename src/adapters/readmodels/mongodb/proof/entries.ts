/** Order histories and delivery logs as they are proven, each in the order of ids. */
import type { Collection } from 'mongodb';
import type { HistoryEntry } from '../../../../ports/orderHistory.js';
import { type EntryRow, entryComparison } from '../../shared/entryProof.js';
import type { HistoryDocument } from '../catalog.js';
import { keysOf } from '../deliveries.js';

/** A stored document, which may be damaged. */
export type EntryDocument = { readonly _id: string; readonly [name: string]: unknown };

/** Behind `after`. A delivery log has deliveries (`d.<id>`) and the health of each webhook (`w.<id>`). */
export async function* entryRows(collection: Collection<EntryDocument>, after = ''): AsyncGenerator<EntryRow> {
  const found = collection.find({ _id: { $gt: after } }, { sort: { _id: 1 }, batchSize: 500 });
  const place = collection.collectionName;
  for await (const { e, ...beside } of found) {
    const key = beside._id;
    const record = key.replace(/^[dw]\./, '').replace('.', ' ');
    yield { key, place, record, beside, ...(key.startsWith('w.') ? {} : { entry: String(e ?? '') }) };
  }
}

export const historyComparison = () =>
  entryComparison(({ revision: n }: HistoryEntry, { key, entry = '', beside }): Omit<HistoryDocument, 'e'> => {
    const [o = ''] = key.split('.');
    const size = beside.s === undefined ? {} : { s: Buffer.byteLength(entry) };
    return { _id: `${o}.${n}`, o, n, ...size };
  });

/** @param droppedBefore see `entryComparison` */
export const deliveryComparison = (droppedBefore?: string) => entryComparison(keysOf, droppedBefore);
