/** Which errors say that a document cannot be stored, and of which document they say it. */
import { MongoBulkWriteError, MongoInvalidArgumentError, MongoServerError } from 'mongodb';
import { isRefusal, refusedOf, storing } from '#app/adapters/readmodels/mongodb/refusals.js';

const documents = [{ _id: 'small' }, { _id: 'large', text: 'x'.repeat(1_000) }, { _id: 'last' }];

const bulkError = (...failed: readonly (readonly [index: number, code: number])[]): MongoBulkWriteError =>
  Object.assign(Object.create(MongoBulkWriteError.prototype), {
    writeErrors: failed.map(([index, code]) => ({ index, code })),
  });

test.each([
  ['DocumentValidationFailure', 121],
  ['CannotIndexParallelArrays', 171],
  ['CannotBuildIndexKeys', 201],
  ['BSONObjectTooLarge', 10_334],
  ['KeyTooLong', 17_280],
  ['the result of an update is too large', 17_419],
  ['the result of an upsert is too large', 17_420],
])('%s is about the document', (_, code) => {
  expect(isRefusal(new MongoServerError({ code, message: 'refused' }))).toBe(true);
  expect(refusedOf(bulkError([2, code]), documents)).toBe(documents[2]);
});

test.each([
  ['Interrupted', 11_601],
  ['WriteConflict', 112],
  ['OutOfDiskSpace', 14_031],
  ['Unauthorized', 13],
  ['a duplicate key', 11_000],
  ['NotWritablePrimary', 10_107],
])('%s is not', (_, code) => {
  expect(isRefusal(new MongoServerError({ code, message: 'not now' }))).toBe(false);
  expect(refusedOf(bulkError([2, code]), documents)).toBeUndefined();
});

test('of several errors of a bulk write the refusal counts; an insert that is too large is BadValue', () => {
  expect(refusedOf(bulkError([0, 11_000], [2, 2]), documents)).toBe(documents[2]);
});

test('the driver refuses large documents itself, by two errors without a code: then the largest is meant', () => {
  const tooLarge = new MongoInvalidArgumentError('Document is larger than the maximum size 16777216');
  expect(refusedOf(tooLarge, documents)).toBe(documents[1]);
  const beyondBuffer = Object.assign(new RangeError('The value of "offset" is out of range.'), {
    code: 'ERR_OUT_OF_RANGE',
  });
  expect(refusedOf(beyondBuffer, documents)).toBe(documents[1]);
  expect(isRefusal(new MongoInvalidArgumentError('Update document requires atomic operators'))).toBe(false);
});

test('documents are stored, or fail with the error for the one that is refused; other errors stay as they are', async () => {
  const mismatch = ({ _id }: { readonly _id: string }, options: ErrorOptions) => new Error(_id, options);
  const failingWith = (error: Error) => storing(documents, () => Promise.reject(error), mismatch);
  await storing(documents, async () => undefined, mismatch);
  await storing([], () => Promise.reject(new Error('Nothing is sent.')), mismatch);
  const refusal = bulkError([2, 10_334]);
  await expect(failingWith(refusal)).rejects.toMatchObject({ message: 'last', cause: refusal });
  const away = new MongoServerError({ code: 10_107, message: 'away' });
  await expect(failingWith(away)).rejects.toBe(away);
});
