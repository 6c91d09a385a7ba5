/** Microseconds since 1970 of an ISO 8601 time in any zone, with up to six digits of a second's fraction. */
export function instant(time: string): number {
  // Date.parse goes no further than milliseconds.
  const beyondMillis = /\.\d{3}(\d{1,3})/.exec(time)?.[1] ?? '';
  return Date.parse(time) * 1000 + Number(beyondMillis.padEnd(3, '0'));
}
