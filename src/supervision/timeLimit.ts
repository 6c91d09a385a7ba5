/** An answer that did not come in time. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** The promise's outcome if it comes in time; a later one is ignored. @throws TimeLimitError with the message */
export async function withinTime<T>(milliseconds: number, message: string, promise: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new TimeLimitError(message)), milliseconds);
  });
  try {
    return await Promise.race([promise, limit]);
  } finally {
    clearTimeout(timer);
  }
}
