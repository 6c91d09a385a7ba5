/** Writes a slice: the tables and collections it needs first, then what it changes. */
import type { AnyBulkWriteOperation, ClientSession, Db } from 'mongodb';
import { type HistoryDocument, historyOf, recordsOf } from './catalog.js';
import type { CatalogWriter } from './catalogWriter.js';
import { applyDeliveries } from './deliveryWriter.js';
import { MisfitError } from './recordFold.js';
import { RecordWriter } from './recordWriter.js';
import type { OrderEntries, Slice, TableSlice } from './slice.js';

export type Applying = {
  /** The slice may have been applied before, as a whole or in part. */
  readonly repeated: boolean;
  /** Writes become visible with its commit; without one they do one by one. */
  readonly session?: ClientSession;
  /** Says of each table that it is being changed before it is, for readers and later writers. */
  readonly announce: boolean;
};

/** Defines tables, and makes the collections that get their first record: no transaction has room for that. */
export async function prepareSlice(db: Db, catalog: CatalogWriter, slice: Slice): Promise<void> {
  for (const { ref, assetType, steps } of slice.tables.values()) {
    if (assetType !== undefined) await catalog.define(db, ref, assetType);
    if (steps.some(({ kind }) => kind === 'records')) await catalog.make(db, await catalog.table(db, ref));
  }
  for (const tenant of slice.histories.keys()) await catalog.make(db, await catalog.ofTenant(db, 'history', tenant));
  for (const [tenant, { put }] of slice.deliveries) {
    if (put.size > 0) await catalog.make(db, await catalog.ofTenant(db, 'deliveries', tenant));
  }
}

/** Does the slice change at most so many documents? A sweep counts as what it would delete if it came first. */
export async function isSmall(db: Db, catalog: CatalogWriter, slice: Slice, most: number): Promise<boolean> {
  let changes = slice.size;
  for (const { ref, steps } of slice.tables.values()) {
    const { entry } = await catalog.table(db, ref);
    for (const step of steps) {
      if (changes > most) return false;
      if (step.kind === 'sweep' && entry.made) {
        changes += await recordsOf(db, entry).countDocuments({ b: { $ne: step.batchId } }, { limit: most + 1 });
      }
    }
  }
  return changes <= most;
}

/**
 * Writes what the slice changes. Can be called again for the same slice, when a transaction was undone.
 * @returns what is left to do once the writes stand: to remember them
 * @throws Error when the slice does not fit the records; LeaseLostError
 */
export async function applySlice(
  db: Db,
  catalog: CatalogWriter,
  slice: Slice,
  applying: Applying,
): Promise<() => void> {
  const settle: (() => void)[] = [];
  for (const table of slice.tables.values()) {
    if (table.last !== undefined) settle.push(await applyToTable(db, catalog, table, table.last, applying));
  }
  for (const [tenant, orders] of slice.histories) await addHistory(db, catalog, tenant, orders, applying.session);
  for (const [tenant, changes] of slice.deliveries) {
    settle.push(await applyDeliveries(db, catalog, tenant, changes, applying));
  }
  return () => {
    for (const each of settle) each();
  };
}

async function applyToTable(
  db: Db,
  catalog: CatalogWriter,
  { ref, steps }: TableSlice,
  last: { readonly revision: number; readonly at: string },
  { repeated, session, announce }: Applying,
): Promise<() => void> {
  const table = await catalog.table(db, ref);
  const { entry, shape } = table;
  const collection = recordsOf(db, entry);
  const writer = new RecordWriter(collection, shape, { repeated, session });
  if (announce) await catalog.change(db, table, { applying: true });
  try {
    // Nothing to sweep where nothing was ever written.
    if (entry.made) for (const step of steps) await writer.apply(step);
  } catch (error) {
    if (!(error instanceof MisfitError)) throw error;
    throw new Error(`Read model ${ref.tenant}/${ref.table} does not fit the log; rebuild its records.`, {
      cause: error,
    });
  }
  // After a crash in the middle nobody knows how many records had been added before it.
  const count = repeated
    ? await collection.countDocuments({}, { ...(session && { session }) })
    : entry.count + writer.added;
  const changed = { revision: last.revision, lastEventAt: last.at, count, applying: false };
  await catalog.change(db, table, changed, session);
  return () => catalog.keep(table, changed);
}

/** An entry that is there already is left alone. */
async function addHistory(
  db: Db,
  catalog: CatalogWriter,
  tenant: string,
  orders: readonly OrderEntries[],
  session: ClientSession | undefined,
): Promise<void> {
  const { entry: history } = await catalog.ofTenant(db, 'history', tenant);
  const writes = orders.flatMap(({ orderId, entries }) =>
    entries.map((entry): AnyBulkWriteOperation<HistoryDocument> => {
      const added = { o: orderId, n: entry.revision, e: JSON.stringify(entry) };
      // Not updateOne, for the reason given in recordWriter.ts.
      return {
        updateMany: { filter: { _id: `${orderId}.${entry.revision}` }, update: { $setOnInsert: added }, upsert: true },
      };
    }),
  );
  if (writes.length > 0) {
    await historyOf(db, history).bulkWrite(writes, { ordered: false, ...(session && { session }) });
  }
}
