/** The category of a stream: its name up to and with the first `-`; the whole name where there is none. */
export function categoryOf(stream: string): string {
  const dash = stream.indexOf('-');
  return dash === -1 ? stream : stream.slice(0, dash + 1);
}

/** Prefixes without those that another one covers, so that no stream is found twice. */
export function withoutCovered(prefixes: readonly string[]): readonly string[] {
  const distinct = [...new Set(prefixes)];
  return distinct.filter((prefix) => !distinct.some((other) => other !== prefix && prefix.startsWith(other)));
}
