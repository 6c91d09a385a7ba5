/**
 * The tree over the log, made by following it: what its leaves are, and how far it goes. Full tiles are files, written before
 * the place moves, so a crash makes it write some of them again, with the same hashes.
 */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Erasures } from '../domain/erasure.js';
import type { EventSlice, EventStore, Position, RecordedEvent } from '../ports/eventStore.js';
import type { IndexedLeaf, LeafIndex, TreePlace } from '../ports/leafIndex.js';
import { isSameLog } from '../ports/logAnchor.js';
import { HASH_BYTES, leafHash, type ReadTile, Tree } from './merkle.js';
import { TileFiles } from './tiles.js';

/** JSON in the canonical form of RFC 8785: members sorted by UTF-16 code units, no spaces, numbers as ECMAScript writes them. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([one], [other]) => (one < other ? -1 : 1))
    .map(([name, member]) => `${JSON.stringify(name)}:${canonicalJson(member)}`);
  return `{${members.join(',')}}`;
}

/**
 * The leaf of an event as stored, before upcasting. The engine's position is not in it, as it differs between engines and
 * the leaf's index gives the order. The leaf is the same for every engine.
 */
export const leafOf = ({ id, stream, revision, type, data, metadata }: RecordedEvent): string =>
  canonicalJson({ id, stream, revision, type, data, metadata });

/** The hash of the leaf; where values were removed from the event, that of the event as it was. */
export const leafHashOf = (event: RecordedEvent): Buffer => {
  const { erasedLeaf } = event.metadata;
  const noted = Buffer.from(erasedLeaf ?? '', 'base64');
  // A forger may have written anything.
  return noted.length === HASH_BYTES ? noted : leafHash(Buffer.from(leafOf(event)));
};

/** The event without what is erased, and with the hash of its leaf as it was; the same event if it keeps all. */
export function withoutErasedBytes(erasures: Erasures, event: RecordedEvent): RecordedEvent {
  const redacted = erasures.redact(event);
  if (redacted === event) return event;
  return { ...redacted, metadata: { ...redacted.metadata, erasedLeaf: leafHashOf(event).toString('base64') } };
}

export type TreeLog = Pick<EventStore, 'identity' | 'holds' | 'subscribe' | 'head'>;
type Place = Omit<TreePlace, 'edge' | 'size'>;

/** Leaves after which the place is stored. */
const COMMITTED_LEAVES = 5_000;

/** One call at a time. */
export class LogTree {
  #uncommitted: IndexedLeaf[] = [];
  #committed: Position;

  private constructor(
    readonly files: TileFiles,
    readonly source: TreeLog,
    readonly index: LeafIndex,
    private place: Place,
    private readonly tree: Tree,
  ) {
    this.#committed = place.position;
  }

  /**
   * The stored tree if it was made of this log, else an empty one.
   * @param directory of the tiles
   * @throws what the event store throws
   */
  static async open(log: TreeLog, index: LeafIndex, directory: string): Promise<LogTree> {
    const files = new TileFiles(directory);
    const place = index.place();
    if (place !== undefined && (await isSameLog(log, place)))
      return new LogTree(files, log, index, place, Tree.from(place.size, place.edge));
    await clearTree(index, directory);
    return new LogTree(files, log, index, { log: await log.identity(), position: 0 }, new Tree());
  }

  get log(): string {
    return this.place.log;
  }

  /** The position in the log up to which events are leaves. */
  get position(): number {
    return this.place.position;
  }

  get size(): number {
    return this.tree.size;
  }

  root(): Buffer {
    return this.tree.root();
  }

  /** Whether the log has events that are no leaves yet. */
  isBehind = async (): Promise<boolean> => this.position < (await this.source.head());

  /** Adds the events of a slice that follows the tree's position. After an error, open the tree again. */
  async add({ events, position, eventId }: EventSlice): Promise<void> {
    for (const event of events) {
      this.#uncommitted.push({ eventId: event.id, leaf: this.size, after: this.position });
      for (const tile of this.tree.push(leafHashOf(event))) await this.files.write(tile);
    }
    this.place = { log: this.log, position, eventId };
    if (this.#uncommitted.length >= COMMITTED_LEAVES) this.commit();
  }

  /** Stores how far the tree goes. */
  commit(): void {
    if (this.position === this.#committed) return;
    this.index.commit({ ...this.place, size: this.size, edge: this.tree.edge() }, this.#uncommitted);
    this.#uncommitted = [];
    this.#committed = this.position;
  }

  /** Writes the tiles that a checkpoint of this size needs beside the full ones. */
  async writePartialTiles(): Promise<void> {
    for (const tile of this.tree.partialTiles()) await this.files.write(tile);
  }

  /** Reads tiles of this tree or an earlier size of it: those that are full from their files, the others from memory. */
  readonly read: ReadTile = async (level, index, width) => {
    const partial = this.tree.partialTiles().find((tile) => tile.level === level && tile.index === index);
    return (partial?.hashes ?? (await this.files.read(level, index))).subarray(0, width * HASH_BYTES);
  };
}

/** Removes tiles and index: the next tree is made from the start of the log. */
export async function clearTree(index: LeafIndex, directory: string): Promise<void> {
  index.clear();
  await rm(join(directory, 'tile'), { recursive: true, force: true });
}

/** What is in the log after a position, up to its head as it is now. @throws what the event store throws */
export async function* untilHead(
  log: TreeLog,
  after: Position,
  options: { readonly maxCount?: number } = {},
): AsyncGenerator<EventSlice, undefined> {
  const head = await log.head();
  if (after >= head) return;
  const ending = new AbortController();
  try {
    for await (const slice of log.subscribe({ after, ...options, signal: ending.signal })) {
      yield slice;
      if (slice.position >= head) return;
    }
  } finally {
    ending.abort();
  }
}

/** Adds what is in the log. @throws what the event store and the files throw */
export async function catchUp(log: TreeLog, tree: LogTree): Promise<void> {
  for await (const slice of untilHead(log, tree.position)) await tree.add(slice);
  tree.commit();
}
