/**
 * Reads the log again and says whether it is still what checkpoints say: the log's own tree is compared with them, and
 * with the stored tiles, which name the first event that is not what it was.
 */
import { Erasures } from '../domain/erasure.js';
import { MAX_MENDED_TILES, MAX_NAMED_EVENTS } from '../domain/limits.js';
import { erasuresOf } from '../ports/erasures.js';
import type { EventStore, RecordedEvent } from '../ports/eventStore.js';
import { Pauses } from '../supervision/waiting.js';
import { type ErasedBytes, ErasedEvents } from './erasedEvents.js';
import { leafHashOf, type NamedEvent, named } from './leaf.js';
import type { TreeLog } from './logTree.js';
import { HASH_BYTES, TILE_WIDTH, type Tile, Tree } from './merkle.js';
import type { Checkpoint } from './note.js';
import type { TileFiles } from './tiles.js';

/** How far clocks may differ, and how long an event may be on its way to the log. */
const CLOCK_MARGIN_MS = 300_000;

export type Verification = {
  /** Events that could be read. */
  readonly events: number;
  readonly root: Buffer;
  /** Why the log could be read no further. */
  readonly unreadable: string | undefined;
  /** The given ones by their size. */
  readonly checkpoints: readonly (Checkpoint & { readonly holds: boolean })[];
  /** The first events that are known to be unchanged. */
  readonly held: number;
  /**
   * The first event that is not what it was, with what the log has in its place. `exact`: the tiles are those that a
   * checkpoint covers; otherwise it is one from this index on.
   */
  readonly changed:
    | { readonly index: number; readonly exact: boolean; readonly now: NamedEvent | undefined; readonly others: number }
    | undefined;
  /** Events behind all checkpoints that say they happened before what the last one covers, or in the future; the first of them. */
  readonly misdated: readonly NamedEvent[];
  /** Tiles that were missing or damaged, and are made again. */
  readonly mended: number;
  /** Events whose leaf's hash alone is that of the time before "migrate --erase". */
  readonly erased: ErasedBytes;
};

/** @param checkpoints whose signatures are verified. @throws what the event store and the files throw */
export async function verifyLog(
  log: TreeLog & Pick<EventStore, 'readStream'>,
  files: TileFiles,
  checkpoints: readonly Checkpoint[],
  onProgress: (position: number, head: number) => void = () => undefined,
): Promise<Verification> {
  const { erasures } = await erasuresOf(log).catch(() => ({ erasures: new Erasures() }));
  const comparison = new Comparison(files, checkpoints, erasures);
  await comparison.at(0);
  const unreadable = await eachEvent(log, onProgress, (event) => comparison.add(event));
  return comparison.end(unreadable);
}

/** @returns why the log could be read no further; undefined if all was read */
async function eachEvent(
  log: TreeLog,
  onProgress: (position: number, head: number) => void,
  use: (event: RecordedEvent) => Promise<void>,
): Promise<string | undefined> {
  const head = await log.head();
  let position = 0;
  const read = async (maxCount?: number): Promise<void> => {
    const ending = new AbortController();
    const options = { after: position, signal: ending.signal, ...(maxCount !== undefined && { maxCount }) };
    try {
      for await (const slice of log.subscribe(options)) {
        for (const event of slice.events) await use(event);
        position = slice.position;
        onProgress(Math.min(position, head), head);
        if (position >= head) return;
      }
    } finally {
      ending.abort();
    }
  };
  if (head === 0) return undefined;
  try {
    await read().catch((error: unknown) => {
      if (error instanceof VerificationError) throw error;
      // Append by append, up to the one that cannot be read.
      return read(1);
    });
    return undefined;
  } catch (error) {
    if (error instanceof VerificationError) throw error.cause;
    return error instanceof Error ? error.message : String(error);
  }
}

/** Wraps an error that is not the log's. */
class VerificationError extends Error {}

/** The log's tree beside the tree of the stored leaf hashes. */
class Comparison {
  readonly #files: TileFiles;
  readonly #checkpoints: readonly Checkpoint[];
  readonly #largest: number;
  readonly #now = new Tree();
  readonly #stored = new Tree();
  #storedTile = Buffer.alloc(0);
  #hasStored = true;
  readonly #holding = new Set<Checkpoint>();
  /** Those whose root the stored leaf hashes have. */
  readonly #witnessed = new Set<Checkpoint>();
  #difference: { readonly index: number; readonly now: NamedEvent | undefined } | undefined;
  /** Leaves that differ, below each checkpoint. */
  readonly #differing = new Map<Checkpoint, number>();
  readonly #misdated: NamedEvent[] = [];
  readonly #erased: ErasedEvents;
  #lastCovered = '';
  /** Full tiles that are not stored as they are. */
  readonly #damaged: Tile[] = [];
  readonly #pauses = new Pauses();

  constructor(files: TileFiles, checkpoints: readonly Checkpoint[], erasures: Erasures) {
    this.#erased = new ErasedEvents(erasures);
    this.#files = files;
    this.#checkpoints = checkpoints.toSorted((one, other) => one.size - other.size);
    this.#largest = Math.max(0, ...checkpoints.map(({ size }) => size));
  }

  async add(event: RecordedEvent): Promise<void> {
    try {
      await this.#add(event);
    } catch (error) {
      throw new VerificationError('The log could not be compared.', { cause: error });
    }
  }

  async #add(event: RecordedEvent): Promise<void> {
    const index = this.#now.size;
    const hash = leafHashOf(event);
    this.#erased.add(event, index);
    for (const tile of this.#now.push(hash)) await this.#compareTile(tile);
    const stored = await this.#pushStored(index);
    if (stored !== undefined && !stored.equals(hash)) {
      this.#differs(index, named(event, index));
    }
    this.#lookAtTime(event, index);
    await this.at(index + 1);
    if (this.#pauses.isDue()) await this.#pauses.take();
  }

  /** Compares roots with the checkpoints of this size. */
  async at(size: number): Promise<void> {
    for (const checkpoint of this.#checkpoints) {
      if (checkpoint.size !== size) continue;
      if (this.#now.size === size && this.#now.root().equals(checkpoint.root)) this.#holding.add(checkpoint);
      if (this.#stored.size === size && this.#stored.root().equals(checkpoint.root)) this.#witnessed.add(checkpoint);
    }
  }

  #differs(index: number, now: NamedEvent | undefined): void {
    this.#difference ??= { index, now };
    for (const each of this.#checkpoints)
      if (index < each.size) this.#differing.set(each, (this.#differing.get(each) ?? 0) + 1);
  }

  async #pushStored(index: number): Promise<Buffer | undefined> {
    if (!this.#hasStored) return undefined;
    const at = index % TILE_WIDTH;
    if (at === 0) this.#storedTile = Buffer.from(await this.#files.readWidest(0, index / TILE_WIDTH));
    const hash = this.#storedTile.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES);
    this.#hasStored = hash.length === HASH_BYTES;
    if (!this.#hasStored) return undefined;
    this.#stored.push(hash);
    return hash;
  }

  #lookAtTime(event: RecordedEvent, index: number): void {
    const { occurredAt } = event.metadata;
    if (index < this.#largest) {
      this.#lastCovered = occurredAt;
      return;
    }
    const at = Date.parse(occurredAt);
    const isEarly = this.#largest > 0 && at < Date.parse(this.#lastCovered) - CLOCK_MARGIN_MS;
    // A time that is none is neither early nor late.
    const isLate = !(at <= Date.now() + CLOCK_MARGIN_MS);
    if ((isEarly || isLate) && this.#misdated.length < MAX_NAMED_EVENTS) this.#misdated.push(named(event, index));
  }

  async end(unreadable: string | undefined): Promise<Verification> {
    const events = this.#now.size;
    const root = this.#now.root();
    // Leaves that the log no longer has.
    for (let index = events; index < this.#largest && (await this.#pushStored(index)) !== undefined; index += 1) {
      this.#differs(index, undefined);
      await this.at(index + 1);
    }
    const checkpoints = this.#checkpoints.map((each) => ({ ...each, holds: this.#holding.has(each) }));
    const changed = this.#changed();
    const held = changed === undefined ? this.#largest : changed.index;
    const mended = changed === undefined && unreadable === undefined ? this.#damaged : [];
    for (const tile of mended) await this.#files.write(tile);
    return {
      events,
      root,
      unreadable,
      checkpoints,
      held: Math.min(held, events),
      changed,
      misdated: this.#misdated,
      mended: mended.length,
      erased: this.#erased.found(),
    };
  }

  #changed(): Verification['changed'] {
    const failing = this.#checkpoints.filter((each) => !this.#holding.has(each));
    if (failing.length === 0) return undefined;
    const holding = this.#checkpoints.filter((each) => this.#holding.has(each)).at(-1)?.size ?? 0;
    const witness = failing.filter((each) => this.#witnessed.has(each)).at(-1);
    if (witness === undefined || this.#difference === undefined || this.#difference.index >= witness.size)
      return { index: holding, exact: false, now: undefined, others: 0 };
    return { ...this.#difference, exact: true, others: (this.#differing.get(witness) ?? 1) - 1 };
  }

  async #compareTile(tile: Tile): Promise<void> {
    // The stored tree may not be as far as the log; as far as a checkpoint it must be.
    const isReached = (tile.index + 1) * TILE_WIDTH ** (tile.level + 1) <= this.#largest;
    if (!isReached || this.#damaged.length === MAX_MENDED_TILES) return;
    if (!(await this.#files.readWidest(tile.level, tile.index)).equals(tile.hashes)) this.#damaged.push(tile);
  }
}
