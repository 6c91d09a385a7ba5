/**
 * Writes the changes of a transaction: the collections they need first, then the changes. Every write leaves the
 * same behind when it is repeated after a crash.
 */
import type { AnyBulkWriteOperation, Db } from 'mongodb';
import { type HistoryDocument, historyOf, recordsOf } from './catalog.js';
import type { CatalogWriter } from './catalogWriter.js';
import { writeDeliveries } from './deliveryWriter.js';
import type { EventStamp, OrderEntries, PendingChanges, TableChanges } from './pendingChanges.js';
import { MisfitError } from './recordDocument.js';
import { RecordWriter } from './recordWriter.js';

/** Defines tables, and makes the collections that get their first record. */
export async function prepareCollections(db: Db, catalog: CatalogWriter, changes: PendingChanges): Promise<void> {
  for (const { ref, assetType, steps } of changes.tables.values()) {
    if (assetType !== undefined) await catalog.define(db, ref, assetType);
    if (steps.some(({ kind }) => kind === 'records')) await catalog.make(db, await catalog.table(db, ref));
  }
  for (const tenant of changes.histories.keys()) await catalog.make(db, await catalog.ofTenant(db, 'history', tenant));
  for (const [tenant, { put }] of changes.deliveries) {
    if (put.size > 0) await catalog.make(db, await catalog.ofTenant(db, 'deliveries', tenant));
  }
}

/**
 * @param repeated the changes may have been written before, as a whole or in part
 * @throws Error when the changes do not fit the records; LeaseLostError
 */
export async function writeChanges(
  db: Db,
  catalog: CatalogWriter,
  changes: PendingChanges,
  repeated: boolean,
): Promise<void> {
  for (const table of changes.tables.values()) {
    if (table.last !== undefined) await writeTable(db, catalog, table, table.last, repeated);
  }
  for (const [tenant, orders] of changes.histories) await writeHistory(db, catalog, tenant, orders);
  for (const [tenant, deliveries] of changes.deliveries) await writeDeliveries(db, catalog, tenant, deliveries);
}

async function writeTable(
  db: Db,
  catalog: CatalogWriter,
  { ref, steps }: TableChanges,
  last: EventStamp,
  repeated: boolean,
): Promise<void> {
  const table = await catalog.table(db, ref);
  const { entry, shape } = table;
  const collection = recordsOf(db, entry);
  const writer = new RecordWriter(collection, shape, repeated);
  await catalog.change(db, table, { applying: true });
  try {
    // Nothing to sweep where nothing was ever written.
    if (entry.made) for (const step of steps) await writer.write(step);
  } catch (error) {
    if (!(error instanceof MisfitError)) throw error;
    throw new Error(`Read model ${ref.tenant}/${ref.table} does not fit the log; rebuild its records.`, {
      cause: error,
    });
  }
  // After a crash in the middle nobody knows how many records had been added before it.
  const count = repeated ? await collection.countDocuments({}) : entry.count + writer.added;
  await catalog.change(db, table, { revision: last.revision, lastEventAt: last.at, count, applying: false });
}

/** An entry that is there already is left alone. */
async function writeHistory(
  db: Db,
  catalog: CatalogWriter,
  tenant: string,
  orders: readonly OrderEntries[],
): Promise<void> {
  const { entry: history } = await catalog.ofTenant(db, 'history', tenant);
  const writes = orders.flatMap(({ orderId, entries }) =>
    entries.map((entry): AnyBulkWriteOperation<HistoryDocument> => {
      const $setOnInsert = { o: orderId, n: entry.revision, e: JSON.stringify(entry) };
      return {
        updateOne: { filter: { _id: `${orderId}.${entry.revision}` }, update: { $setOnInsert }, upsert: true },
      };
    }),
  );
  if (writes.length > 0) await historyOf(db, history).bulkWrite(writes, { ordered: false });
}
