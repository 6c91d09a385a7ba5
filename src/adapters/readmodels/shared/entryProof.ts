/**
 * The proof of order histories, delivery logs and activity. Each engine stores an entry as JSON text, and beside it the values that
 * it queries by.
 */
import type { ActivityEntry } from '../../../ports/activity.js';
import type { DeliveryLogEntry } from '../../../ports/deliveryLog.js';
import type { HistoryEntry } from '../../../ports/orderHistory.js';
import { instant } from './deliveryLog.js';
import { type Comparison, type Finding, isStored, parsed, saySame } from './proof.js';

/** What is stored, which may be damaged. */
export type EntryRow = {
  readonly key: string;
  readonly place: string;
  readonly record: string;
  /** The JSON text; undefined for the health of a webhook, which is `beside` alone, and for events of records. */
  readonly entry?: string;
  readonly beside: { readonly [name: string]: unknown };
};

/** The digits of the largest revision, so that keys sort as rows do. */
const REVISION_DIGITS = 16;
export const padded = (number: number): string => String(number).padStart(REVISION_DIGITS, '0');

export const sizeOfEntry = ({ entry = '' }: EntryRow): number => entry.length + 100;

/** What all kinds of entry have. */
type Entry = HistoryEntry | DeliveryLogEntry | ActivityEntry;

/**
 * @param expected the values to be stored beside an entry
 * @param droppedBefore deliveries that ended before this time may be missing from the served log
 */
export const entryComparison = <Kind extends Entry>(
  expected: (entry: Kind, row: EntryRow) => object,
  droppedBefore?: string,
): Comparison<EntryRow> => ({
  about: ({ place, record }) => ({ place, record }),
  changed(live, copy) {
    if (live.entry !== undefined && copy.entry !== undefined)
      return saySame(live.entry, copy.entry) ? [] : ['the entry'];
    return differing(copy.beside, live.beside);
  },
  itself(row) {
    if (row.entry === undefined) return [];
    const { place, record } = row;
    const find = (detail: string): readonly Finding[] => [{ place, record, kind: 'different', detail }];
    const entry = entryIn<Kind>(row.entry);
    if (entry === undefined) return find('The entry is no JSON of an entry.');
    const wrong = differing(expected(entry, row), row.beside);
    return wrong.length === 0 ? [] : find(`Values that do not fit the entry: ${wrong.join(', ')}.`);
  },
  mayBeMissing({ entry: text = '' }) {
    const entry = entryIn<DeliveryLogEntry>(text);
    return droppedBefore !== undefined && entry?.endedAt != null && instant(entry.endedAt) < instant(droppedBefore);
  },
});

/** Names of the values that are not stored as expected. */
const differing = (expected: object, stored: EntryRow['beside']): readonly string[] =>
  Object.entries(expected).flatMap(([name, value]) => (isStored(value, stored[name]) ? [] : [name]));

/** Undefined if the text is no JSON of an entry. Further damage shows in the values beside it. */
function entryIn<Kind extends Entry>(text: string): Kind | undefined {
  const entry = parsed(text);
  return typeof entry === 'object' && entry !== null && 'revision' in entry ? (entry as Kind) : undefined;
}

/** Which events concern a record: there or not. */
export const recordEventComparison: Comparison<EntryRow> = {
  about: ({ place, record }) => ({ place, record }),
  changed: () => [],
  itself: () => [],
};

/** A part of records is proven in two passes: `after` of the second begins with this, which comes behind all ids. */
export const EVENTS_PASS = '~';

/** The slice behind one of records: of the next ones or, of the served copy, of their events. */
export const behindRecords = <Slice extends { readonly next?: string | undefined }>(
  slice: Slice,
  subject: 'live' | 'copy',
): Slice => (slice.next === undefined && subject === 'live' ? { ...slice, next: EVENTS_PASS } : slice);

/** A slice of the second pass: it counts no records. */
export const ofEvents = <Slice extends { readonly next?: string | undefined }>(slice: Slice): Slice => ({
  ...slice,
  records: 0,
  next: slice.next === undefined ? undefined : `${EVENTS_PASS}${slice.next}`,
});
