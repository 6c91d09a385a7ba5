/** Adds documents, and tells errors about one of them apart from errors of the server: the same document is refused again. */
import { BSON, type Collection, MongoBulkWriteError, MongoServerError } from 'mongodb';
import { RowRefusedError } from '../../../ports/rowStore.js';
import { unlessThere } from './connection.js';
import type { StateDocument } from './documents.js';

/** The server's limit is 16,777,216 bytes. */
const LARGEST_BYTES = 16_700_000;
/** Texts of fewer characters are not measured: folded and exact texts beside them cannot make so much of them. */
const SURELY_SMALL = 1_000_000;

/**
 * DocumentValidationFailure, CannotBuildIndexKeys, BSONObjectTooLarge, KeyTooLong; and 17419 and 17420, a result that is too
 * large.
 */
const REFUSAL_CODES: readonly unknown[] = [121, 201, 10_334, 17_280, 17_419, 17_420];

/**
 * @param added those that are there already stay
 * @returns ids of those that were there
 * @throws RowRefusedError
 */
export async function addStates(
  states: Collection<StateDocument>,
  table: string,
  added: readonly StateDocument[],
): Promise<ReadonlySet<string>> {
  if (added.length === 0) return new Set();
  const tooLarge = added.find(
    (document) => document.d.length > SURELY_SMALL && BSON.calculateObjectSize(document) > LARGEST_BYTES,
  );
  if (tooLarge !== undefined) throw refused(table, tooLarge);
  try {
    const there = await unlessThere(() => states.insertMany([...added], { ordered: false }));
    return new Set(there.flatMap((place) => added[place]?._id ?? []));
  } catch (error) {
    const place = error instanceof MongoBulkWriteError ? [error.writeErrors].flat().find(isRefusal)?.index : undefined;
    const document = place === undefined ? undefined : added[place];
    if (document !== undefined) throw refused(table, document, { cause: error });
    if (error instanceof MongoServerError && isRefusal(error))
      throw new RowRefusedError(error.message, { cause: error });
    throw error;
  }
}

const isRefusal = ({ code }: { readonly code?: unknown }): boolean => REFUSAL_CODES.includes(code);

const refused = (table: string, { i }: StateDocument, options?: ErrorOptions): RowRefusedError =>
  new RowRefusedError(`MongoDB cannot store the row ${i} of ${table}.`, options);
