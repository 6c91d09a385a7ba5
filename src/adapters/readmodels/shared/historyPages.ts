/** Entries of order histories as JSON text, and the pages that they are shown on. */
import { MAX_HISTORY_PAGE_BYTES } from '../../../domain/limits.js';
import type { HistoryEntry, HistoryPage, StoredHistoryEntry } from '../../../ports/orderHistory.js';

/** Within a value quotation marks are escaped, so only the key is written like this. */
const CHANGES = ',"changes":';

/** The changes come last, so that the rest can be parsed alone. */
export const entryText = ({ changes, ...entry }: HistoryEntry): string => JSON.stringify({ ...entry, changes });

export function storedEntry(text: string): StoredHistoryEntry {
  const end = text.indexOf(CHANGES);
  return { ...JSON.parse(`${text.slice(0, end)}}`), changes: text.slice(end + CHANGES.length, -1) };
}

/** Where a page is among the entries of its history. */
export type PlaceOfPage = Omit<HistoryPage, 'entries'> & { readonly count: number };

/**
 * A page ends at its number of entries or at MAX_HISTORY_PAGE_BYTES, and has at least one entry. Entries never change and
 * new ones are the last, so a page that has a next one stays as it is.
 * @param sizes bytes of all entries, oldest first
 */
export function placeOfPage(
  sizes: Iterable<number>,
  { page, perPage }: { readonly page: number; readonly perPage: number },
): PlaceOfPage {
  let [total, pages, onPage, bytes] = [0, 0, 0, 0];
  let [before, count] = [0, 0];
  for (const size of sizes) {
    if (pages === 0 || onPage === perPage || bytes + size > MAX_HISTORY_PAGE_BYTES) {
      pages += 1;
      [onPage, bytes] = [0, 0];
      if (pages === page) before = total;
    }
    if (pages === page) count += 1;
    total += 1;
    onPage += 1;
    bytes += size;
  }
  return { total, pages, before, count };
}
