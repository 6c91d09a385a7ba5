/** Inserting by a chosen _id: of several who try, the server lets one. */
import {
  type ClientSession,
  type Collection,
  type Document,
  MongoServerError,
  type OptionalUnlessRequiredId,
} from 'mongodb';

const DUPLICATE_KEY = 11_000;

export const isDuplicateKey = (error: unknown): boolean =>
  error instanceof MongoServerError && error.code === DUPLICATE_KEY;

/** @returns false when there is a document with this _id */
export async function insertOnce<Schema extends Document>(
  collection: Collection<Schema>,
  document: OptionalUnlessRequiredId<Schema>,
  session?: ClientSession,
): Promise<boolean> {
  try {
    await collection.insertOne(document, session === undefined ? {} : { session });
    return true;
  } catch (error) {
    if (isDuplicateKey(error)) return false;
    throw error;
  }
}
