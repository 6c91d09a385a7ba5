/** Small tables, histories and delivery logs share collections: when one gets a collection for itself, and how (0053). */
import { SMALL_BYTES } from '../shared/smallTables.js';
import { type CatalogEntry, recordsOf, type StoredEntry } from './catalog.js';
import type { LaneDb } from './connection.js';
import type { Part, Place } from './part.js';
import { refusedRecord, relaidRecord, shapeOf, WHOLE_RECORD, type WholeRecord } from './recordDocument.js';
import type { TableStep } from './recordWriter.js';

export type Size = { readonly rows: number; readonly bytes: number };

/** How much larger changes can make it; `replaced`: bytes that take the place of others. */
export type Growth = Size & { readonly replaced: number };

const bytesIn = (value: unknown): number => Buffer.byteLength(JSON.stringify(value));

/** Clean-ups count nothing. */
export function growthOf(steps: readonly TableStep[]): Growth {
  let rows = 0;
  let bytes = 0;
  let replaced = 0;
  for (const step of steps) {
    if (step.kind === 'cleanUp') continue;
    for (const change of [...step.byId.values()].flat()) {
      if (change.kind === 'insert') {
        rows += 1;
        bytes += bytesIn(change.fields);
      }
      if (change.kind === 'patch') replaced += bytesIn(change.set);
      if (change.kind === 'delete') rows -= 1;
    }
  }
  return { rows, bytes, replaced };
}

export function growthOfHistory(orders: readonly { readonly entries: readonly unknown[] }[]): Growth {
  const added = orders.flatMap(({ entries }) => entries);
  return { rows: added.length, bytes: added.reduce<number>((bytes, entry) => bytes + bytesIn(entry), 0), replaced: 0 };
}

/** Entries that were there before count as well. */
export const growthOfLog = (put: ReadonlyMap<string, unknown>): Growth =>
  growthOfHistory([{ entries: [...put.values()] }]);

type Stored = { readonly _id: string; readonly d?: string; readonly e?: string };

/** Texts of records and entries, without what stands beside them. */
export async function sizeOfSmall(db: LaneDb, entry: CatalogEntry): Promise<Size> {
  let rows = 0;
  let bytes = 0;
  if (!entry.made) return { rows, bytes };
  for await (const { d = '', e = '' } of db.part<Stored>(entry).find({}, { projection: { d: 1, e: 1 } })) {
    rows += 1;
    bytes += Buffer.byteLength(d) + Buffer.byteLength(e);
  }
  return { rows, bytes };
}

export const isTooLarge = ({ rows, bytes }: Size, smallRows: number): boolean =>
  rows > smallRows || bytes > SMALL_BYTES;

/** Copies what is small to a collection for itself, whose records have more keys for its indexes. */
export async function copyGrown(db: LaneDb, small: StoredEntry, to: Place): Promise<void> {
  if (small.kind !== 'records') return copied(db.part<Stored>(small).find({}), db.part<Stored>(to), (entry) => entry);
  const large = { ...small, ...to };
  const [from, into] = [shapeOf(small), shapeOf(large)];
  const records = recordsOf(db, small).find<WholeRecord>({}, { projection: WHOLE_RECORD });
  await copied(records, recordsOf(db, large), (record) => relaidRecord(from, into, record));
}

/** Copies documents to another part of the shared collection, as they are. */
export const copyPart = (db: LaneDb, from: CatalogEntry, of: string): Promise<void> =>
  copied(db.part<Stored>(from).find({}), db.part<Stored>({ ...from, of }), (document) => document);

const DOCUMENTS_AT_ONCE = 200;

async function copied<Found, Document extends { readonly _id: string }>(
  documents: AsyncIterable<Found>,
  to: Part<Document>,
  as: (found: Found) => Document,
): Promise<void> {
  let some: Document[] = [];
  const put = async (): Promise<void> => {
    await to.insertMany(some, refusedRecord);
    some = [];
  };
  for await (const found of documents) {
    some.push(as(found));
    if (some.length === DOCUMENTS_AT_ONCE) await put();
  }
  await put();
}
