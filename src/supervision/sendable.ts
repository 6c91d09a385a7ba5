/**
 * An error for another thread. A copy is sent there, and of an error whose class is not one of the language, as that of
 * SQLite's driver, the copy has no message.
 */
export function sendable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message, stack, cause } = error;
  const copy = new Error(message, cause === undefined ? {} : { cause: sendable(cause) });
  if (stack !== undefined) copy.stack = stack;
  return copy;
}
