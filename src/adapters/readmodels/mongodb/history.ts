/** Entries of order histories as documents, and their pages. */
import type { FindOptions } from 'mongodb';
import type { HistoryEntry, HistoryPage, HistoryReads } from '../../../ports/orderHistory.js';
import { mapWithPauses } from '../../../supervision/waiting.js';
import { AnswerSize } from '../shared/answerSize.js';
import { entryText, placeOfPage, storedEntry } from '../shared/historyPages.js';
import type { HistoryDocument } from './catalog.js';
import type { Part } from './part.js';

export function historyDocument(orderId: string, entry: HistoryEntry): Omit<HistoryDocument, '_id'> {
  const e = entryText(entry);
  return { o: orderId, n: entry.revision, s: Buffer.byteLength(e), e };
}

/** @throws AnswerTooLargeError for a page of entries of earlier releases, whose sizes are not known before they are read */
export async function readHistory(
  entries: Part<HistoryDocument>,
  orderId: string,
  page: Parameters<HistoryReads['history']>[2],
  whileWanted: FindOptions,
): Promise<HistoryPage> {
  const ofOrder = { o: orderId };
  const inOrder = { ...whileWanted, sort: { n: 1 } } as const;
  const sizes = await entries.find(ofOrder, { ...inOrder, projection: { _id: 0, s: 1 }, batchSize: 1_000 }).toArray();
  const { count, ...place } = placeOfPage(
    sizes.map(({ s = 0 }) => s),
    page,
  );
  // Here a limit of 0 would be none.
  if (count === 0) return { ...place, entries: [] };
  const size = new AnswerSize('page');
  const found: string[] = [];
  const shown = { ...inOrder, skip: place.before, limit: count, batchSize: count };
  for await (const { e } of entries.find(ofOrder, shown)) found.push(size.add(e));
  return { ...place, entries: await mapWithPauses(found, storedEntry) };
}
