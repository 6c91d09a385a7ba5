/** Tells errors about a document apart from errors of the server: the same document is refused again. */
import { BSON, type Document, MongoBulkWriteError, MongoInvalidArgumentError, MongoServerError } from 'mongodb';

/**
 * DocumentValidationFailure, CannotIndexParallelArrays, CannotBuildIndexKeys (more than indexMaxNumGeneratedKeysPerDocument),
 * BSONObjectTooLarge, KeyTooLong; and 17419 and 17420, an update's result that is too large.
 */
const REFUSAL_CODES: readonly unknown[] = [121, 171, 201, 10_334, 17_280, 17_419, 17_420];
/** BadValue: of an insert, "object to insert too large". Of other commands it may be an error of this program. */
const BAD_VALUE = 2;

/** The driver has no code for it; beyond 17 MB its buffer ends, with a RangeError. */
const isTooLargeForDriver = (error: unknown): boolean =>
  (typeof error === 'object' && error !== null && 'code' in error && error.code === 'ERR_OUT_OF_RANGE') ||
  (error instanceof MongoInvalidArgumentError && error.message.includes('larger than the maximum size'));

/** Whether the server or the driver refuses a document. */
export function isRefusal(error: unknown): boolean {
  if (isTooLargeForDriver(error)) return true;
  if (error instanceof MongoBulkWriteError) return writeErrorsOf(error).some(({ code }) => isOfDocument(code));
  return error instanceof MongoServerError && REFUSAL_CODES.includes(error.code);
}

/** Which of the documents a bulk write was refused for; undefined if it failed for another reason. */
export function refusedOf<Written extends Document>(
  error: unknown,
  documents: readonly Written[],
): Written | undefined {
  if (!isRefusal(error)) return undefined;
  const first = writeErrorsOf(error).find(({ code }) => isOfDocument(code));
  return first === undefined ? largestOf(documents) : documents[first.index];
}

/**
 * Stores documents: the way of every write through a `Part`. One that the server refuses fails as a change of its tenant, which parks the tenant,
 * and not as the server, which would stop the lane.
 * @param mismatchOf the error for a refused document
 */
export async function storing<Written extends Document>(
  documents: readonly Written[],
  store: () => Promise<unknown>,
  mismatchOf: (refused: Written, options: ErrorOptions) => Error,
): Promise<void> {
  if (documents.length === 0) return;
  try {
    await store();
  } catch (error) {
    const refused = refusedOf(error, documents);
    throw refused === undefined ? error : mismatchOf(refused, { cause: error });
  }
}

const isOfDocument = (code: number): boolean => code === BAD_VALUE || REFUSAL_CODES.includes(code);

const writeErrorsOf = (error: unknown) => (error instanceof MongoBulkWriteError ? [error.writeErrors].flat() : []);

function largestOf<Written extends Document>(documents: readonly Written[]): Written | undefined {
  const sizes = documents.map((document) => BSON.calculateObjectSize(document));
  return documents[sizes.indexOf(Math.max(...sizes))];
}
