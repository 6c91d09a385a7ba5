/** How the maps of a state are changed by an event: as copies, so that whoever holds the state before it sees no change. */

/** The map as one that may be written to. */
export type Writable = <Key, Value>(map: ReadonlyMap<Key, Value>) => Map<Key, Value>;

/** For one event. */
export const copied: Writable = (map) => new Map(map);

/**
 * For many events in a row, of which nobody sees the states in between: a map is copied for the first event that changes
 * it and written to by the others. Otherwise a map of thousands of entries, made by as many events, costs their square.
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
