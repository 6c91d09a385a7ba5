/** The tiles of a tree as files, at the paths of c2sp.org/tlog-tiles: a web server can publish them as they are. */
import { readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { errorCode, writeWhole } from '../supervision/files.js';
import { HASH_BYTES, TILE_WIDTH, type Tile } from './merkle.js';

/** The tile is missing, or has another length than a tile of its width. */
export class DamagedTileError extends Error {}

/** An index in groups of three digits, all but the last behind an `x`: 1234067 is `x001/x234/067`. */
function indexPath(index: number): string {
  const digits = String(index);
  const groups = digits.padStart(Math.ceil(digits.length / 3) * 3, '0').match(/\d{3}/g) ?? [];
  return groups.map((group, at) => (at < groups.length - 1 ? `x${group}` : group)).join('/');
}

/** Relative to the directory of the tree. */
export const tilePath = (level: number, index: number, width: number = TILE_WIDTH): string =>
  `tile/${level}/${indexPath(index)}${width < TILE_WIDTH ? `.p/${width}` : ''}`;

export class TileFiles {
  constructor(private readonly directory: string) {}

  /** A full tile takes the place of its partial ones. */
  async write({ level, index, hashes }: Tile): Promise<void> {
    const width = hashes.length / HASH_BYTES;
    await writeWhole(join(this.directory, tilePath(level, index, width)), hashes, rename, this.directory);
    if (width === TILE_WIDTH)
      await rm(join(this.directory, `${tilePath(level, index)}.p`), { recursive: true, force: true });
  }

  /** The first hashes of a tile, from the full one or a partial one of this width. @throws DamagedTileError */
  async read(level: number, index: number, width: number = TILE_WIDTH): Promise<Buffer> {
    for (const stored of new Set([TILE_WIDTH, width])) {
      const path = tilePath(level, index, stored);
      const hashes = await readFile(join(this.directory, path)).catch(undefinedIfMissing);
      if (hashes?.length === stored * HASH_BYTES) return hashes.subarray(0, width * HASH_BYTES);
      if (hashes !== undefined) throw new DamagedTileError(`${path} is damaged.`);
    }
    throw new DamagedTileError(`${tilePath(level, index, width)} is missing.`);
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (errorCode(error) !== 'ENOENT') throw error;
}
