/** How `evolve` changes the maps of a state: in a copy, since the state before is used elsewhere. */

/** Returns a map that may be written to. */
export type Writable = <Key, Value>(map: ReadonlyMap<Key, Value>) => Map<Key, Value>;

/** For one event. */
export const copied: Writable = (map) => new Map(map);

/**
 * For many events in a row: a map is copied for the first event that changes it, and written to by the others, since nobody
 * sees the states in between. Without this, thousands of events that fill a map would take quadratic time.
 */
export function copiedOnce(): Writable {
  const copies = new Set<unknown>();
  return (map) => {
    if (copies.has(map) && map instanceof Map) return map;
    const copy = new Map(map);
    copies.add(copy);
    return copy;
  };
}
