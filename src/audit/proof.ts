/** Proves that an event is in the log as a signed checkpoint says (c2sp.org/tlog-proof). */
import type { Erasures } from '../domain/erasure.js';
import { type EventStore, erasuresOf, type RecordedEvent, type Revision } from '../ports/eventStore.js';
import type { StoredCheckpoint } from './checkpoints.js';
import { type LogTree, leafOf, type TreeLog, untilHead } from './logTree.js';
import { HASH_BYTES, inclusionProof, leafHash, rootOfProof, TILE_WIDTH } from './merkle.js';
import { DamagedTileError } from './tiles.js';

/** Slices of the log that are looked through for each leaf. */
const MAX_PROOF_SLICES = 20;

export type EventProof = {
  /** The event, to the byte as it is hashed. */
  readonly leaf: string;
  /** Index of the leaf, its inclusion proof, and the checkpoint. */
  readonly proof: string;
};

/**
 * Why there is no proof. `uncovered`: the last checkpoint is older than the event; `changed`: so was the event; `erased`: the
 * event has values that are not shown any more.
 */
export type Unproved = 'unknown' | 'uncovered' | 'changed' | 'erased';

/** A tree that has all that the checkpoint covers. */
type Covered = {
  readonly tree: LogTree;
  readonly checkpoint: StoredCheckpoint;
};

/**
 * @param isShown whether the event may be shown to the caller
 * @throws DamagedTileError if the tiles must be made again
 */
export async function proveEvent(
  log: TreeLog & Pick<EventStore, 'readStream'>,
  covered: Covered,
  eventId: string,
  isShown: (stream: string) => boolean,
): Promise<EventProof | Unproved> {
  for (const { after } of covered.tree.index.find(eventId)) {
    let slices = 0;
    // It is in the first slice behind the place that the index names, if slices are as long as when it was indexed.
    for await (const { events } of untilHead(log, after)) {
      const event = events.find(({ id, stream }) => id === eventId && isShown(stream));
      if (event !== undefined) {
        const found = await provedLeaf(covered, event, (await erasuresOf(log)).erasures);
        return 'unproved' in found ? found.unproved : found;
      }
      slices += 1;
      if (slices === MAX_PROOF_SLICES) break;
    }
  }
  return 'unknown';
}

/** Whether values of the event are not shown any more: then its bytes are not, either. */
const isErased = (event: RecordedEvent, erasures: Erasures): boolean =>
  event.metadata.erasedLeaf !== undefined || erasures.redact(event) !== event;

/** An event to the byte, with its proof or the reason why it has none; without its erased values, if there are some. */
type ProvedLeaf = UnnumberedLeaf & { readonly revision: Revision };
type UnnumberedLeaf = EventProof | { readonly leaf: string; readonly unproved: Exclude<Unproved, 'unknown'> };

/** Events of a stream, in its order. */
export type ProvedEvents = {
  readonly events: readonly ProvedLeaf[];
  /** The revision from which the next ones are; undefined after the last. */
  readonly next: Revision | undefined;
};

const EVENTS_AT_ONCE = 100;

/** @throws DamagedTileError if the tiles must be made again */
export async function proveStream(
  log: EventStore,
  covered: Covered,
  stream: string,
  from: Revision,
): Promise<ProvedEvents> {
  const range = { from, to: Number.MAX_SAFE_INTEGER, maxCount: EVENTS_AT_ONCE, backwards: false };
  const { events, next } = await log.readSlice(stream, range);
  const { erasures } = await erasuresOf(log);
  const proved: ProvedLeaf[] = [];
  for (const event of events)
    proved.push({ revision: event.revision, ...(await provedLeaf(covered, event, erasures)) });
  return { events: proved, next };
}

async function provedLeaf(
  { tree, checkpoint: { size, root, note } }: Covered,
  event: RecordedEvent,
  erasures: Erasures,
): Promise<UnnumberedLeaf> {
  if (isErased(event, erasures)) return { leaf: leafOf(erasures.redact(event)), unproved: 'erased' };
  const leaf = leafOf(event);
  const covered = tree.index.find(event.id).filter((each) => each.leaf < size);
  const own = leafHash(Buffer.from(leaf));
  // Streams may share the id of an event.
  for (const { leaf: at } of covered) {
    const path = await inclusionProof(at, size, tree.read);
    const tile = Math.floor(at / TILE_WIDTH);
    const hashes = await tree.read(0, tile, Math.min(TILE_WIDTH, size - tile * TILE_WIDTH));
    const stored = hashes.subarray((at % TILE_WIDTH) * HASH_BYTES).subarray(0, HASH_BYTES);
    if (rootOfProof(stored, { index: at, size, path })?.equals(root) !== true)
      throw new DamagedTileError('Tiles of the tree are not those that the checkpoint covers.');
    if (own.equals(stored)) return { leaf, proof: proofText(at, path, note) };
  }
  return { leaf, unproved: covered.length === 0 ? 'uncovered' : 'changed' };
}

const proofText = (index: number, path: readonly Buffer[], note: string): string =>
  ['c2sp.org/tlog-proof@v1', `index ${index}`, ...path.map((each) => each.toString('base64')), '', note].join('\n');
