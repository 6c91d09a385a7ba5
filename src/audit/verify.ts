/**
 * Reads the log again and says whether it is still what checkpoints say: the log's own tree is compared with them, and
 * with the stored tiles, which name the first event that is not what it was.
 */
import { Erasures } from '../domain/erasure.js';
import { erasuresOf } from '../ports/erasures.js';
import type { EventStore, RecordedEvent } from '../ports/eventStore.js';
import { type ErasedBytes, ErasedEvents, MAX_NAMED_EVENTS } from './erasedEvents.js';
import { leafHashOf, type NamedEvent, named } from './leaf.js';
import type { TreeLog } from './logTree.js';
import { HASH_BYTES, TILE_WIDTH, type Tile, Tree } from './merkle.js';
import type { Checkpoint } from './note.js';
import type { TileFiles } from './tiles.js';

/** Tiles that one verification makes again; they are in memory until then. */
const MAX_MENDED_TILES = 10_000;

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

/** @param given checkpoints whose signatures are verified. @throws what the event store and the files throw */
export async function verifyLog(
  log: TreeLog & Pick<EventStore, 'readStream'>,
  files: TileFiles,
  given: readonly Checkpoint[],
  onProgress: (position: number, head: number) => void = () => undefined,
): Promise<Verification> {
  const { erasures } = await erasuresOf(log).catch(() => ({ erasures: new Erasures() }));
  const covered = Math.max(0, ...given.map(({ size }) => size));
  const tree = new Tree();
  const roots = new Map([[0, tree.root()]]);
  const stored = new StoredLeaves(files);
  const differences = new Differences();
  const times = new EventTimes(covered);
  const erased = new ErasedEvents(erasures);
  const damaged: Tile[] = [];
  let unreadable: string | undefined;
  const onUnreadable = (why: string): void => {
    unreadable = why;
  };
  for await (const event of eventsOf(log, onProgress, onUnreadable)) {
    const index = tree.size;
    const leaf = leafHashOf(event);
    for (const tile of tree.push(leaf))
      if (damaged.length < MAX_MENDED_TILES && (await isDamaged(files, tile, covered))) damaged.push(tile);
    if ((await stored.at(index))?.equals(leaf) === false) differences.add(index, named(event, index));
    if (given.some(({ size }) => size === tree.size)) roots.set(tree.size, tree.root());
    times.add(event, index);
    erased.add(event, index);
  }
  const events = tree.size;
  // Leaves that the log no longer has.
  for (let index = events; index < covered && (await stored.at(index)) !== undefined; index += 1)
    differences.add(index, undefined);

  const checkpoints = given
    .map((each) => ({ ...each, holds: roots.get(each.size)?.equals(each.root) === true }))
    .sort((one, other) => one.size - other.size);
  const changed = await changedIn(checkpoints, stored, differences);
  const mended = changed === undefined && unreadable === undefined ? damaged : [];
  for (const tile of mended) await files.write(tile);
  return {
    events,
    root: tree.root(),
    unreadable,
    checkpoints,
    held: Math.min(changed?.index ?? covered, events),
    changed,
    misdated: times.misdated,
    mended: mended.length,
    erased: erased.found(),
  };
}

/** @param onUnreadable called at the end if the log could be read no further */
async function* eventsOf(
  log: TreeLog,
  onProgress: (position: number, head: number) => void,
  onUnreadable: (why: string) => void,
): AsyncGenerator<RecordedEvent, undefined> {
  const head = await log.head();
  let position = 0;
  // After an error append by append, up to the one that cannot be read.
  for (const slices of [{}, { maxCount: 1 }]) {
    const ending = new AbortController();
    try {
      if (position === head) return;
      for await (const slice of log.subscribe({ ...slices, after: position, signal: ending.signal })) {
        yield* slice.events;
        position = slice.position;
        onProgress(Math.min(position, head), head);
        if (position >= head) return;
      }
    } catch (error) {
      if ('maxCount' in slices) onUnreadable(error instanceof Error ? error.message : String(error));
    } finally {
      ending.abort();
    }
  }
}

/** The hashes of leaves in the lowest tiles, which are read one after the other. */
class StoredLeaves {
  readonly #files: TileFiles;
  #tile: { readonly index: number; readonly hashes: Buffer } | undefined;

  constructor(files: TileFiles) {
    this.#files = files;
  }

  /** Undefined where none is stored. */
  async at(leaf: number): Promise<Buffer | undefined> {
    const index = Math.floor(leaf / TILE_WIDTH);
    if (this.#tile?.index !== index) this.#tile = { index, hashes: await this.#files.readWidest(0, index) };
    const hash = this.#tile.hashes.subarray((leaf % TILE_WIDTH) * HASH_BYTES).subarray(0, HASH_BYTES);
    return hash.length === HASH_BYTES ? hash : undefined;
  }

  /** Whether they are the ones that the checkpoint covers. */
  async areOf({ size, root }: Checkpoint): Promise<boolean> {
    const tree = new Tree();
    for (let index = 0; index < size; index += 1) {
      const leaf = await this.at(index);
      if (leaf === undefined) return false;
      tree.push(leaf);
    }
    return tree.root().equals(root);
  }
}

/** Leaves that are not what is stored. */
class Differences {
  readonly #indexes: number[] = [];
  first: { readonly index: number; readonly now: NamedEvent | undefined } | undefined;

  add(index: number, now: NamedEvent | undefined): void {
    this.first ??= { index, now };
    this.#indexes.push(index);
  }

  below = (size: number): number => this.#indexes.filter((index) => index < size).length;
}

async function changedIn(
  checkpoints: Verification['checkpoints'],
  stored: StoredLeaves,
  differences: Differences,
): Promise<Verification['changed']> {
  const failing = checkpoints.filter(({ holds }) => !holds);
  if (failing.length === 0) return undefined;
  const { first } = differences;
  for (const { size, ...each } of failing.toReversed())
    if (first !== undefined && first.index < size && (await stored.areOf({ size, ...each })))
      return { ...first, exact: true, others: differences.below(size) - 1 };
  const held = checkpoints.findLast(({ holds }) => holds)?.size ?? 0;
  return { index: held, exact: false, now: undefined, others: 0 };
}

/** Whether a full tile of the log's tree is not stored as it is, though a checkpoint reaches as far. */
async function isDamaged(files: TileFiles, { level, index, hashes }: Tile, covered: number): Promise<boolean> {
  if ((index + 1) * TILE_WIDTH ** (level + 1) > covered) return false;
  return !(await files.readWidest(level, index)).equals(hashes);
}

/** Looks for times that cannot be right: what was appended later cannot have happened before. */
class EventTimes {
  readonly misdated: NamedEvent[] = [];
  readonly #covered: number;
  #lastCovered = '';

  /** @param covered events that checkpoints cover */
  constructor(covered: number) {
    this.#covered = covered;
  }

  add(event: RecordedEvent, index: number): void {
    const { occurredAt } = event.metadata;
    if (index < this.#covered) {
      this.#lastCovered = occurredAt;
      return;
    }
    const at = Date.parse(occurredAt);
    const isEarly = this.#covered > 0 && at < Date.parse(this.#lastCovered) - CLOCK_MARGIN_MS;
    // A time that is none is neither early nor late.
    const isLate = !(at <= Date.now() + CLOCK_MARGIN_MS);
    if ((isEarly || isLate) && this.misdated.length < MAX_NAMED_EVENTS) this.misdated.push(named(event, index));
  }
}
