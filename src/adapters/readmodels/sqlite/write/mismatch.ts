/** Tells events that do not fit the tables from failures of SQLite itself. */
import { type Mismatch, MismatchError } from '../../../../ports/readModelWriter.js';
import { codeOf } from '../../../openSqlite.js';

/** Codes about a statement or its values; all other codes are about the file, the disk or memory. */
const OF_CONTENT = ['SQLITE_ERROR', 'SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG', 'SQLITE_RANGE'];

/** Applies a part of one event. @throws MismatchError when it does not fit; an engine error as it is */
export function throwingMismatch<Result>(mismatch: Mismatch, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (isOfEngine(error)) throw error;
    throw new MismatchError(mismatch, { cause: error });
  }
}

function isOfEngine(error: unknown): boolean {
  const code = codeOf(error);
  const isOfContent = code === '' || OF_CONTENT.some((known) => code === known || code.startsWith(`${known}_`));
  return !isOfContent;
}
