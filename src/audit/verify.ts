/**
 * Reads the log again and says whether it is still what a checkpoint says: the log's own tree is compared with it, and with the
 * stored tiles, which name the first event that is not what it was. Changes nothing.
 */
import { Erasures } from '../domain/erasure.js';
import { type EventStore, erasuresOf, type Position, type RecordedEvent } from '../ports/eventStore.js';
import { messageOf } from '../supervision/files.js';
import { leafHashOf, type TreeLog, untilHead } from './logTree.js';
import { HASH_BYTES, TILE_WIDTH, Tree } from './merkle.js';
import type { Checkpoint } from './note.js';
import type { TileFiles } from './tiles.js';

const NONE: Buffer = Buffer.alloc(0);

/** An event as reports name it. */
export type NamedEvent = Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'type'> & {
  /** In the tree, from 0. */
  readonly index: number;
};

function named({ id, stream, revision, type }: RecordedEvent, index: number): NamedEvent {
  return { index, id, stream, revision, type };
}

export type Verification = {
  /** Events that could be read, up to some before the one that could not. */
  readonly events: number;
  /** Why the log could be read no further. */
  readonly unreadable: string | undefined;
  /** Whether the log still begins with the events that the checkpoint covers. */
  readonly holds: boolean;
  /** The first event that is not what the tiles say, and what the log has in its place: nothing where its end is gone. Undefined if they name none. */
  readonly changed: { readonly index: number; readonly now: NamedEvent | undefined } | undefined;
  /** Events that have lost erased values: the hash of each is proved, its text is not. */
  readonly erased: number;
  /** The first that says so, and that no erasure in the log concerns, or that still has a value that it erases. */
  readonly unnamed: NamedEvent | undefined;
};

/** @param checkpoint whose signature is verified @param onSlice ends the reading where it throws. @throws what the event store throws */
export async function verifyLog(
  log: TreeLog & Pick<EventStore, 'readStream'>,
  files: TileFiles,
  { size: covered, root }: Checkpoint,
  onSlice: (position: Position) => void = () => undefined,
): Promise<Verification> {
  const { erasures } = await erasuresOf(log).catch(() => ({ erasures: new Erasures() }));
  const tree = new Tree();
  let holds = covered === 0;
  let changed: Verification['changed'];
  let unnamed: NamedEvent | undefined;
  let unreadable: string | undefined;
  let erased = 0;
  /** Of the lowest tiles, which are read one after the other; empty where one cannot be read. */
  let tile = NONE;
  try {
    for await (const { events, position } of untilHead(log, 0)) {
      onSlice(position);
      for (const event of events) {
        const index = tree.size;
        const leaf = leafHashOf(event);
        tree.push(leaf);
        const at = index % TILE_WIDTH;
        if (at === 0 && index < covered)
          tile = await files.read(0, index / TILE_WIDTH, Math.min(TILE_WIDTH, covered - index)).catch(() => NONE);
        const stored = tile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
        if (index < covered && stored.length === HASH_BYTES && !stored.equals(leaf))
          changed ??= { index, now: named(event, index) };
        if (tree.size === covered) holds = tree.root().equals(root);
        if (event.metadata.erasedLeaf === undefined) continue;
        erased += 1;
        const left = erasures.redaction(event);
        if (!left.concerned || left.event !== event) unnamed ??= named(event, index);
      }
    }
  } catch (error) {
    unreadable = messageOf(error);
  }
  const events = tree.size;
  if (events < covered && unreadable === undefined) changed ??= { index: events, now: undefined };
  return { events, unreadable, holds, changed: holds ? undefined : changed, erased, unnamed };
}
