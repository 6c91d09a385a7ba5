/**
 * The Merkle tree of RFC 6962 §2.1, with SHA-256, cut into tiles of height 8 (c2sp.org/tlog-tiles): a tile at level `l`
 * has up to 256 hashes, each of 256 ** l leaves.
 */
import { hash } from 'node:crypto';

export const HASH_BYTES = 32;
export const TILE_WIDTH = 256;

/** Hashes of one tile, side by side. Its width is less than 256 only at the right edge of the tree. */
export type Tile = {
  readonly level: number;
  readonly index: number;
  readonly hashes: Buffer;
};

/** The hashes of a tile that has at least this many. @throws if there is no such tile */
export type ReadTile = (level: number, index: number, width: number) => Promise<Buffer>;

const sha256 = (bytes: Uint8Array): Buffer => hash('sha256', bytes, 'buffer');

const LEAF = Buffer.of(0);
const node = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

export const leafHash = (leaf: Uint8Array): Buffer => sha256(Buffer.concat([LEAF, leaf]));

export function nodeHash(left: Uint8Array, right: Uint8Array): Buffer {
  node.set(left, 1);
  node.set(right, 1 + HASH_BYTES);
  return sha256(node);
}

const hashAt = (hashes: Buffer, index: number): Buffer => hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES);

/** The hash over a power of two of hashes. */
function hashOver(hashes: Buffer): Buffer {
  let row = hashes;
  for (let count = row.length / HASH_BYTES; count > 1; count /= 2) {
    const above = Buffer.alloc((count / 2) * HASH_BYTES);
    for (let at = 0; at < count; at += 2)
      above.set(nodeHash(hashAt(row, at), hashAt(row, at + 1)), (at / 2) * HASH_BYTES);
    row = above;
  }
  return Buffer.from(row);
}

/** The largest power of two below a number over 1. */
function powerBelow(number: number): number {
  let power = 1;
  while (power * 2 < number) power *= 2;
  return power;
}

const TILE_BYTES = TILE_WIDTH * HASH_BYTES;
const NONE = Buffer.alloc(0);

/** A growing tree, of which only the right edge is kept. */
export class Tree {
  #size = 0;
  /** By level, the hashes that are in no full tile yet. */
  #edge: Buffer[] = [];

  get size(): number {
    return this.#size;
  }

  /** Adds a leaf. @returns the tiles that are full now, the lowest first */
  push(leaf: Buffer): readonly Tile[] {
    const full: Tile[] = [];
    this.#size += 1;
    let added = leaf;
    for (let level = 0; ; level += 1) {
      const hashes = Buffer.concat([this.#edge[level] ?? NONE, added]);
      this.#edge[level] = hashes.length < TILE_BYTES ? hashes : NONE;
      if (hashes.length < TILE_BYTES) return full;
      full.push({ level, index: this.#size / TILE_WIDTH ** (level + 1) - 1, hashes });
      added = hashOver(hashes);
    }
  }

  /** The partial tiles at this size, the lowest first. */
  partialTiles(): readonly Tile[] {
    return this.#edge.flatMap((hashes, level) => {
      const index = Math.floor(this.#size / TILE_WIDTH ** (level + 1));
      return hashes.length === 0 ? [] : [{ level, index, hashes }];
    });
  }

  /** The Merkle Tree Hash: of the largest subtrees from the left, folded from the right. */
  root(): Buffer {
    let root: Buffer | undefined;
    for (const hashes of this.#edge) {
      for (let left = hashes.length / HASH_BYTES; left > 0; ) {
        // The lowest binary digits of the count stand for the rightmost subtrees.
        const width = left & -left;
        left -= width;
        const subtree = hashOver(hashes.subarray(left * HASH_BYTES, (left + width) * HASH_BYTES));
        root = root === undefined ? subtree : nodeHash(subtree, root);
      }
    }
    return root ?? sha256(NONE);
  }

  /** The hashes that are in no full tile yet, the lowest level first: `from` makes the tree of them again. */
  edge(): Buffer {
    return Buffer.concat(this.#edge);
  }

  /** @param edge of a tree of this size */
  static from(size: number, edge: Uint8Array): Tree {
    const tree = new Tree();
    tree.#size = size;
    let start = 0;
    for (let left = size; left > 0; left = Math.floor(left / TILE_WIDTH)) {
      const end = start + (left % TILE_WIDTH) * HASH_BYTES;
      tree.#edge.push(Buffer.from(edge.subarray(start, end)));
      start = end;
    }
    return tree;
  }
}

/**
 * The hash of the leaves of a stored tree from one index up to, but without, another, as the tree has a subtree of them.
 * Reads a few tiles for each level.
 */
async function subtreeHash(size: number, read: ReadTile, from: number, to: number): Promise<Buffer> {
  const count = to - from;
  const half = count === 1 ? 1 : powerBelow(count);
  if (count > 1 && half * 2 !== count) {
    const left = await subtreeHash(size, read, from, from + half);
    return nodeHash(left, await subtreeHash(size, read, from + half, to));
  }
  let [level, span] = [0, 1];
  for (; span * TILE_WIDTH <= count; level += 1) span *= TILE_WIDTH;
  const first = from / span;
  const index = Math.floor(first / TILE_WIDTH);
  const width = Math.min(TILE_WIDTH, Math.floor(size / span) - index * TILE_WIDTH);
  const hashes = await read(level, index, width);
  const at = first - index * TILE_WIDTH;
  return hashOver(hashes.subarray(at * HASH_BYTES, (at + count / span) * HASH_BYTES));
}

/** The Merkle Tree Hash of a stored tree of this size. @throws what `read` throws */
export async function storedRoot(size: number, read: ReadTile): Promise<Buffer> {
  return size === 0 ? new Tree().root() : subtreeHash(size, read, 0, size);
}

/** PATH of RFC 6962 §2.1.1: the leaf's sibling first. @throws what `read` throws */
export async function inclusionProof(index: number, size: number, read: ReadTile): Promise<readonly Buffer[]> {
  const path: Buffer[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + powerBelow(to - from);
    const isLeft = index < middle;
    path.unshift(await (isLeft ? subtreeHash(size, read, middle, to) : subtreeHash(size, read, from, middle)));
    [from, to] = isLeft ? [from, middle] : [middle, to];
  }
  return path;
}

/** The root that a proof leads to (RFC 9162 §2.1.3.2); undefined if it has not as many hashes as a proof has. */
export function rootOfProof(
  leaf: Uint8Array,
  { index, size, path }: { readonly index: number; readonly size: number; readonly path: readonly Uint8Array[] },
): Buffer | undefined {
  let [at, last] = [index, size - 1];
  let root: Buffer = Buffer.from(leaf);
  for (const sibling of path) {
    if (last <= 0) return undefined;
    if (at % 2 === 1 || at === last) {
      root = nodeHash(sibling, root);
      while (at % 2 === 0 && at !== 0) [at, last] = [at / 2, Math.floor(last / 2)];
    } else root = nodeHash(root, sibling);
    [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  }
  return last === 0 ? root : undefined;
}
