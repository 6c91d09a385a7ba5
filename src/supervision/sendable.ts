/**
 * Makes an error that can be sent to another thread. The structured clone of a driver's error class, such as SQLite's,
 * would lose its message.
 */
export function sendable(error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  const { message, stack, cause } = error;
  const copy = new Error(message, cause === undefined ? {} : { cause: sendable(cause) });
  if (stack !== undefined) copy.stack = stack;
  return copy;
}
