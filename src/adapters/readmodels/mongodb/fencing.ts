/**
 * What a new holder of the lease does before it writes: it shuts out every earlier one.
 *
 * Its fencing token goes into the state and each entry of the catalog. A writer announces each commit, and each table
 * it is about to change, by an update that insists on its own token, so an earlier holder can announce nothing more.
 * What it had announced before, and may still be writing (a request can be late by any time), is told by
 * `applying`: such a collection gets a new name, and late writes go to the old name, where nobody reads.
 */
import type { Db } from 'mongodb';
import { type CatalogEntry, COLLECTION_NAME, catalogOf, insertOnce, newCollectionName, stateOf } from './catalog.js';

/** Another holder has taken over: what was about to be written must not be. */
export class LeaseLostError extends Error {
  override readonly name = 'LeaseLostError';
  constructor() {
    super('The lease on the read models has gone to another process.');
  }
}

/** @throws LeaseLostError when a later holder was faster */
export async function fenceOff(db: Db, token: number): Promise<void> {
  await insertOnce(stateOf(db), { _id: 'state', fence: 0, checkpoints: [], until: [] });
  const { matchedCount } = await stateOf(db).updateOne(
    { _id: 'state', fence: { $lt: token } },
    { $set: { fence: token } },
  );
  if (matchedCount !== 1) throw new LeaseLostError();
  await catalogOf(db).updateMany({ rebuild: null, fence: { $lt: token } }, { $set: { fence: token } });
  const dirty = await catalogOf(db).find({ rebuild: null, applying: true }).toArray();
  for (const entry of dirty) await move(db, entry, token);
  await dropUnreferenced(db);
}

/** Renames a collection. When a holder died over it, `moving` is set, and it has one of the two names. */
async function move(db: Db, entry: CatalogEntry, token: number): Promise<void> {
  const names = await collectionNames(db);
  const from = entry.moving !== null && names.includes(entry.moving) ? entry.moving : entry.collection;
  const to = newCollectionName(entry.kind);
  const change = ($set: Partial<CatalogEntry>) =>
    catalogOf(db).updateOne({ _id: entry._id, fence: token }, { $set, $inc: { version: 1 } });
  await change({ collection: from, moving: to });
  if (names.includes(from)) await db.renameCollection(from, to);
  await change({ collection: to, moving: null });
}

const collectionNames = async (db: Db): Promise<readonly string[]> =>
  (await db.listCollections({}, { nameOnly: true }).toArray()).map(({ name }) => name);

/** Collections are listed first: one that was made meanwhile has been in the catalog before. */
export async function dropUnreferenced(db: Db): Promise<void> {
  const names = (await collectionNames(db)).filter((name) => COLLECTION_NAME.test(name));
  const entries = await catalogOf(db)
    .find({}, { projection: { collection: 1, moving: 1 } })
    .toArray();
  const used = new Set(entries.flatMap(({ collection, moving }) => [collection, moving]));
  for (const name of names) if (!used.has(name)) await db.dropCollection(name);
}
