/**
 * The tree over the log, made by following it. Full tiles are files, written before the place moves, so a crash makes it
 * write some of them again, with the same hashes.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { EventSlice, EventStore, Position } from '../ports/eventStore.js';
import type { IndexedLeaf, LeafIndex, TreePlace } from '../ports/leafIndex.js';
import { isSameLog } from '../ports/logAnchor.js';
import { leafHashOf } from './leaf.js';
import { HASH_BYTES, type ReadTile, TILE_WIDTH, Tree } from './merkle.js';
import { TileFiles } from './tiles.js';

export type TreeLog = Pick<EventStore, 'identity' | 'holds' | 'subscribe' | 'head'>;

/** Leaves after which the place is stored. */
const COMMITTED_LEAVES = 5_000;

export class LogTree {
  readonly files: TileFiles;
  readonly #index: LeafIndex;
  #tree: Tree;
  /** Without `edge`, which is taken when it is stored. */
  #place: Omit<TreePlace, 'edge' | 'size'>;
  #uncommitted: IndexedLeaf[] = [];
  #committed: Position;
  #isAdding = false;

  private constructor(directory: string, index: LeafIndex, place: Omit<TreePlace, 'edge' | 'size'>, tree: Tree) {
    this.files = new TileFiles(directory);
    this.#index = index;
    this.#place = place;
    this.#committed = place.position;
    this.#tree = tree;
  }

  /**
   * The stored tree if it was made of this log, else an empty one.
   * @param directory of the tiles
   * @throws what the event store throws
   */
  static async open(log: TreeLog, index: LeafIndex, directory: string): Promise<LogTree> {
    const place = index.place();
    if (place !== undefined && (await isSameLog(log, place)) && (await hasTiles(directory, place.size)))
      return new LogTree(directory, index, place, Tree.from(place.size, place.edge));
    await clearTree(index, directory);
    return new LogTree(directory, index, { log: await log.identity(), position: 0 }, new Tree());
  }

  get log(): string {
    return this.#place.log;
  }

  /** The position in the log up to which events are leaves. */
  get position(): number {
    return this.#place.position;
  }

  get size(): number {
    return this.#tree.size;
  }

  root(): Buffer {
    return this.#tree.root();
  }

  /** Adds the events of a slice that follows the tree's position. After an error, open the tree again. */
  async add({ events, position, eventId }: EventSlice): Promise<void> {
    const after = this.#place.position;
    this.#isAdding = true;
    for (const event of events) {
      this.#uncommitted.push({ eventId: event.id, leaf: this.#tree.size, after });
      for (const tile of this.#tree.push(leafHashOf(event))) await this.files.write(tile);
    }
    this.#place = { log: this.#place.log, position, eventId };
    this.#isAdding = false;
    if (this.#uncommitted.length >= COMMITTED_LEAVES) this.commit();
  }

  /** Stores how far the tree goes. Does nothing in the middle of a slice. */
  commit(): void {
    if (this.#isAdding || this.#place.position === this.#committed) return;
    this.#index.commit({ ...this.#place, size: this.#tree.size, edge: this.#tree.edge() }, this.#uncommitted);
    this.#uncommitted = [];
    this.#committed = this.#place.position;
  }

  /** Writes the tiles that a checkpoint of this size needs beside the full ones. */
  async writePartialTiles(): Promise<void> {
    for (const tile of this.#tree.partialTiles()) await this.files.write(tile);
  }

  /** Reads tiles of this tree or an earlier size of it: those that are full from their files, the others from memory. */
  readonly read: ReadTile = async (level, index, width) => {
    const partial = this.#tree.partialTiles().find((tile) => tile.level === level && tile.index === index);
    return (
      partial?.hashes.subarray(0, width * HASH_BYTES) ??
      (await this.files.read(level, index)).subarray(0, width * HASH_BYTES)
    );
  };
}

/** Whether the first tile is there, if it is full. Others that are missing or damaged are found when they are read. */
const hasTiles = (directory: string, size: number): Promise<boolean> =>
  new TileFiles(directory).read(0, 0).then(
    () => true,
    () => size < TILE_WIDTH,
  );

/** Removes tiles and index: the next tree is made from the start of the log. */
export async function clearTree(index: LeafIndex, directory: string): Promise<void> {
  index.clear();
  await rm(join(directory, 'tile'), { recursive: true, force: true });
}

type Progress = (position: number, head: number) => void;

/** What is in the log after a position, up to its head as it is now. @throws what the event store throws */
export async function* untilHead(
  log: Pick<TreeLog, 'head' | 'subscribe'>,
  after: Position,
  { maxCount, onProgress }: { readonly maxCount?: number; readonly onProgress?: Progress | undefined } = {},
): AsyncGenerator<EventSlice, undefined> {
  const head = await log.head();
  if (after >= head) return;
  const ending = new AbortController();
  const limit = maxCount === undefined ? {} : { maxCount };
  try {
    for await (const slice of log.subscribe({ ...limit, after, signal: ending.signal })) {
      yield slice;
      onProgress?.(Math.min(slice.position, head), head);
      if (slice.position >= head) return;
    }
  } finally {
    ending.abort();
  }
}

/** Adds what is in the log. @throws what the event store and the files throw */
export async function catchUp(log: TreeLog, tree: LogTree, onProgress?: Progress): Promise<void> {
  for await (const slice of untilHead(log, tree.position, { onProgress })) await tree.add(slice);
  tree.commit();
}
