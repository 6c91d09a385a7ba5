/** The code of an error of the system or of a driver, such as `ENOENT`; undefined if it has none. The class does not tell. */
export const errorCode = (error: unknown): unknown =>
  typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
