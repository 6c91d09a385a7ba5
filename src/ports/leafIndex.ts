/** What is stored of the tree over the log beside its tiles: how far it goes, and where the leaf of an event is. */
import type { EventPosition, Position } from './eventStore.js';

/** A tree of this log's events up to a position. */
export type TreePlace = EventPosition & {
  readonly log: string;
  /** Number of leaves. */
  readonly size: number;
  /** Hashes of the tiles that are not full yet, the lowest level first. */
  readonly edge: Uint8Array;
};

export type IndexedLeaf = {
  readonly eventId: string;
  /** Index of the leaf in the tree. */
  readonly leaf: number;
  /** A position at which an append ended before this event, and from which few events are between. */
  readonly after: Position;
};

/** Several processes may share it: the tree is the same for all of them. */
export interface LeafIndex {
  /** Undefined before the first commit. */
  place(): TreePlace | undefined;
  /** Stores leaves and place together. The place of a process that is further stays. */
  commit(place: TreePlace, leaves: readonly IndexedLeaf[]): void;
  /** Streams may share the id of an event, so there may be several. */
  find(eventId: string): readonly IndexedLeaf[];
  /** Forgets everything. */
  clear(): void;
  close(): void;
}
