/** Order histories, delivery logs and activity as they are proven, each in the order of ids. */
import type { ActivityEntry } from '../../../../ports/activity.js';
import type { HistoryEntry } from '../../../../ports/orderHistory.js';
import { provenText } from '../../shared/activity.js';
import { type EntryRow, entryComparison } from '../../shared/entryProof.js';
import { keysOf as activityKeysOf } from '../activity.js';
import type { HistoryDocument, Kind } from '../catalog.js';
import { keysOf } from '../deliveries.js';
import type { Part } from '../part.js';

/** A stored document, which may be damaged. */
export type EntryDocument = { readonly _id: string; readonly [name: string]: unknown };

/** Behind `after`. A delivery log has deliveries (`d.<id>`) and the health of each webhook (`w.<id>`). */
export async function* entryRows(
  collection: Part<EntryDocument>,
  kind: Exclude<Kind, 'records'>,
  after = '',
): AsyncGenerator<EntryRow> {
  const proven = kind === 'activity' ? provenText : (text: string) => text;
  const found = collection.find({ _id: { $gt: after } }, { sort: { _id: 1 }, batchSize: 500 });
  const place = collection.collectionName;
  for await (const { e, ...beside } of found) {
    const key = beside._id;
    const record = key.replace(/^[dw]\./, '').replace('.', ' ');
    yield { key, place, record, beside, ...(key.startsWith('w.') ? {} : { entry: proven(String(e ?? '')) }) };
  }
}

const historyComparison = () =>
  entryComparison(({ revision: n }: HistoryEntry, { key, entry = '', beside }): Omit<HistoryDocument, 'e'> => {
    const [o = ''] = key.split('.');
    const size = beside.s === undefined ? {} : { s: Buffer.byteLength(entry) };
    return { _id: `${o}.${n}`, o, n, ...size };
  });

/** @param droppedBefore see `entryComparison` */
const deliveryComparison = (droppedBefore?: string) => entryComparison(keysOf, droppedBefore);

/** The comparison of a kind of entries. */
export function comparisonOf(kind: Exclude<Kind, 'records'>, droppedBefore?: string) {
  switch (kind) {
    case 'history':
      return historyComparison();
    case 'deliveries':
      return deliveryComparison(droppedBefore);
    case 'activity':
      return entryComparison((entry: ActivityEntry) => activityKeysOf(entry));
  }
}
