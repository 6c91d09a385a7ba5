/**
 * Reads the log again and says whether it is still what checkpoints say: the log's own tree is compared with them, and
 * with the stored tiles, which name the first event that is not what it was. Changes nothing.
 */
import { Erasures } from '../domain/erasure.js';
import { erasuresOf } from '../ports/erasures.js';
import type { EventStore, RecordedEvent } from '../ports/eventStore.js';
import { type ErasedBytes, ErasedEvents, MAX_NAMED_EVENTS } from './erasedEvents.js';
import { leafHashOf, type NamedEvent, named } from './leaf.js';
import { type TreeLog, untilHead } from './logTree.js';
import { HASH_BYTES, TILE_WIDTH, Tree } from './merkle.js';
import type { Checkpoint } from './note.js';
import { DamagedTileError, type TileFiles } from './tiles.js';

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
  /** Events whose leaf's hash alone is that of the time before "migrate --erase". */
  readonly erased: ErasedBytes;
};

/** @param given checkpoints whose signatures are verified. @throws what the event store and the files throw */
export async function verifyLog(
  log: TreeLog & Pick<EventStore, 'readStream'>,
  files: TileFiles,
  given: readonly Checkpoint[],
  onProgress?: (position: number, head: number) => void,
): Promise<Verification> {
  const { erasures } = await erasuresOf(log).catch(() => ({ erasures: new Erasures() }));
  const covered = Math.max(0, ...given.map(({ size }) => size));
  const tree = new Tree();
  const roots = new Map([[0, tree.root()]]);
  const stored = new StoredLeaves(files, covered);
  const differing: Difference[] = [];
  const misdated: NamedEvent[] = [];
  const erased = new ErasedEvents(erasures);
  let lastCovered = '';
  let unreadable: string | undefined;
  const onUnreadable = (why: string): void => {
    unreadable = why;
  };
  for await (const event of eventsOf(log, onUnreadable, onProgress)) {
    const index = tree.size;
    const leaf = leafHashOf(event);
    tree.push(leaf);
    const { occurredAt } = event.metadata;
    if (index < covered) {
      lastCovered = occurredAt;
      // Only the first is named.
      const isOther = (await stored.at(index))?.equals(leaf) === false;
      if (isOther) differing.push({ index, now: differing.length === 0 ? named(event, index) : undefined });
    } else if (misdated.length < MAX_NAMED_EVENTS && isMisdated(occurredAt, lastCovered))
      misdated.push(named(event, index));
    if (given.some(({ size }) => size === tree.size)) roots.set(tree.size, tree.root());
    erased.add(event, index);
  }
  const events = tree.size;
  // Leaves that the log no longer has.
  for (let index = events; index < covered && (await stored.at(index)) !== undefined; index += 1)
    differing.push({ index, now: undefined });

  const checkpoints = given
    .map((each) => ({ ...each, holds: roots.get(each.size)?.equals(each.root) === true }))
    .sort((one, other) => one.size - other.size);
  const changed = await changedIn(checkpoints, stored, differing);
  const held = Math.min(changed?.index ?? covered, events);
  return { events, root: tree.root(), unreadable, checkpoints, held, changed, misdated, erased: erased.found() };
}

/** @param onUnreadable called at the end if the log could be read no further */
async function* eventsOf(
  log: TreeLog,
  onUnreadable: (why: string) => void,
  onProgress?: (position: number, head: number) => void,
): AsyncGenerator<RecordedEvent, undefined> {
  let position = 0;
  // After an error append by append, up to the one that cannot be read.
  for (const limit of [{}, { maxCount: 1 }]) {
    try {
      for await (const slice of untilHead(log, position, { ...limit, onProgress })) {
        yield* slice.events;
        position = slice.position;
      }
      return;
    } catch (error) {
      if ('maxCount' in limit) onUnreadable(error instanceof Error ? error.message : String(error));
    }
  }
}

/** The hashes of leaves in the lowest tiles, which are read one after the other. */
class StoredLeaves {
  readonly #files: TileFiles;
  readonly #covered: number;
  #tile: { readonly index: number; readonly hashes: Buffer } | undefined;

  /** @param covered leaves of the largest checkpoint */
  constructor(files: TileFiles, covered: number) {
    this.#files = files;
    this.#covered = covered;
  }

  /** Undefined where none is stored. */
  async at(leaf: number): Promise<Buffer | undefined> {
    const index = Math.floor(leaf / TILE_WIDTH);
    if (this.#tile?.index !== index) {
      const width = Math.min(TILE_WIDTH, this.#covered - index * TILE_WIDTH);
      this.#tile = { index, hashes: await this.#files.read(0, index, width).catch(noneIfDamaged) };
    }
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

function noneIfDamaged(error: unknown): Buffer {
  if (error instanceof DamagedTileError) return Buffer.alloc(0);
  throw error;
}

/** A leaf that is not what is stored, and what the log has in its place. */
type Difference = { readonly index: number; readonly now: NamedEvent | undefined };

async function changedIn(
  checkpoints: Verification['checkpoints'],
  stored: StoredLeaves,
  differing: readonly Difference[],
): Promise<Verification['changed']> {
  const failing = checkpoints.filter(({ holds }) => !holds);
  if (failing.length === 0) return undefined;
  const [first] = differing;
  for (const each of failing.toReversed())
    if (first !== undefined && first.index < each.size && (await stored.areOf(each)))
      return { ...first, exact: true, others: differing.filter(({ index }) => index < each.size).length - 1 };
  const held = checkpoints.findLast(({ holds }) => holds)?.size ?? 0;
  return { index: held, exact: false, now: undefined, others: 0 };
}

/**
 * Whether the time of an event behind all checkpoints cannot be right: what was appended later cannot have happened before,
 * and nothing has happened in the future. @param lastCovered '' if no event is covered
 */
function isMisdated(time: string, lastCovered: string): boolean {
  const at = Date.parse(time);
  const isEarly = lastCovered !== '' && at < Date.parse(lastCovered) - CLOCK_MARGIN_MS;
  return isEarly || !(at <= Date.now() + CLOCK_MARGIN_MS);
}
