/** UUIDs packed for an event: 16 bytes each, one after another, as base64. A thousand take 21 KB instead of 39. */

/** @param ids UUIDs in their usual text form */
export function packIds(ids: readonly string[]): string {
  return Buffer.from(ids.join('').replaceAll('-', ''), 'hex').toString('base64');
}

export function unpackIds(packed: string): string[] {
  const hex = Buffer.from(packed, 'base64').toString('hex');
  const ids: string[] = [];
  for (let at = 0; at < hex.length; at += 32) {
    ids.push(
      `${hex.slice(at, at + 8)}-${hex.slice(at + 8, at + 12)}-${hex.slice(at + 12, at + 16)}-${hex.slice(at + 16, at + 20)}-${hex.slice(at + 20, at + 32)}`,
    );
  }
  return ids;
}
