/** A table of places in a file of embedded read models, as the property tests begin with it. */
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/writer.js';
import type { ReadModelWriter } from '#app/ports/readModelWriter.js';
import { assetType, firstFields, places } from './tableHistories.js';

/** Defined with its first fields, and without records. */
export async function openPlaces(file: string): Promise<ReadModelWriter> {
  const writer = await openSqliteReadModelWriter({ file });
  await writer.begin();
  await writer.defineTable(places, assetType(firstFields));
  await writer.commit(new Map());
  return writer;
}
