/** Tells what an event cannot do to the tables from what SQLite cannot do at all. */
import { type Mismatch, MismatchError } from '../../../../ports/readModelWriter.js';
import { codeOf } from '../../../openSqlite.js';

/** What SQLite says of a statement or its values; all else it says is of the file, the disk or the memory. */
const OF_CONTENT = ['SQLITE_ERROR', 'SQLITE_CONSTRAINT', 'SQLITE_MISMATCH', 'SQLITE_TOOBIG', 'SQLITE_RANGE'];

/** Does what one event asks for. @throws MismatchError; as it is, what is of SQLite's making */
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
