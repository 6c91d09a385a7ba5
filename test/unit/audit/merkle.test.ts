import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inclusionProof, leafHash, nodeHash, rootOfProof, storedRoot, Tree } from '#app/audit/merkle.js';
import { TileFiles, tilePath } from '#app/audit/tiles.js';

/** Leaves, and the root of each size from 0, that implementations of Certificate Transparency are tested with. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'].map(
  (hex) => leafHash(Buffer.from(hex, 'hex')),
);
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];
const PATH_OF_5_IN_8 = [
  'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
  'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
];

/** RFC 6962 §2.1, word by word. */
function mth(leaves: readonly Buffer[]): Buffer {
  const [first] = leaves;
  if (leaves.length === 1 && first !== undefined) return first;
  let k = 1;
  while (k * 2 < leaves.length) k *= 2;
  return nodeHash(mth(leaves.slice(0, k)), mth(leaves.slice(k)));
}

test('RFC 6962 §2.1: the roots of the reference tree', () => {
  const tree = new Tree();
  expect(tree.root().toString('hex')).toBe(ROOTS[0]);
  for (const [index, leaf] of LEAVES.entries()) {
    tree.push(leaf);
    expect(tree.root().toString('hex')).toBe(ROOTS[index + 1]);
  }
});

test('tlog-tiles: paths of tiles', () => {
  expect(tilePath(0, 0)).toBe('tile/0/000');
  expect(tilePath(2, 1234067)).toBe('tile/2/x001/x234/067');
  expect(tilePath(1, 1000, 17)).toBe('tile/1/x001/000.p/17');
});

describe('stored tiles', () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tiles-'));
  });
  afterEach(() => rm(directory, { recursive: true }));

  /** Grows a tree on the disk, with its partial tiles at these sizes. */
  async function stored(leaves: readonly Buffer[], sizes: readonly number[]) {
    const files = new TileFiles(directory);
    let tree = new Tree();
    for (const leaf of leaves) {
      for (const tile of tree.push(leaf)) await files.write(tile);
      if (!sizes.includes(tree.size)) continue;
      for (const tile of tree.partialTiles()) await files.write(tile);
      // As after a restart.
      tree = Tree.from(tree.size, tree.edge());
    }
    return { tree, read: files.read.bind(files) };
  }

  test('RFC 6962 §2.1.3: the reference proof', async () => {
    const { read } = await stored(LEAVES, [8]);
    expect((await inclusionProof(5, 8, read)).map((each) => each.toString('hex'))).toEqual(PATH_OF_5_IN_8);
  });

  test('roots and proofs of many sizes and leaves, in one level and in several', async () => {
    const leaves = Array.from({ length: 66_300 }, (_, number) => leafHash(Buffer.from(String(number))));
    const sizes = [1, 2, 3, 255, 256, 257, 300, 511, 512, 1_000, 65_536, 65_537, 66_300];
    const { read, tree } = await stored(leaves, sizes);
    expect(tree.root()).toEqual(mth(leaves));
    for (const size of sizes) {
      const root = mth(leaves.slice(0, size));
      expect(await storedRoot(size, read)).toEqual(root);
      for (const index of new Set([0, 1, 254, 255, 256, 299, 65_535, size - 2, size - 1])) {
        const leaf = leaves[index];
        if (index < 0 || index >= size || leaf === undefined) continue;
        const path = await inclusionProof(index, size, read);
        expect(rootOfProof(leaf, { index, size, path })).toEqual(root);
        expect(rootOfProof(leaf, { index, size, path: [...path, root] })).toBeUndefined();
        if (size > 1) {
          const other = index === 0 ? 1 : index - 1;
          expect(rootOfProof(leaf, { index: other, size, path })).not.toEqual(root);
          expect(rootOfProof(root, { index, size, path })).not.toEqual(root);
        }
      }
    }
  });

  test('a full tile takes the place of its partial ones, and has their hashes', async () => {
    const leaves = Array.from({ length: 256 }, (_, number) => leafHash(Buffer.from(String(number))));
    const { read } = await stored(leaves, [100, 256]);
    expect(await readdir(join(directory, 'tile/0'))).toEqual(['000']);
    expect(await readdir(join(directory, 'tile/1/000.p'))).toEqual(['1']);
    expect(await read(0, 0, 100)).toEqual(Buffer.concat(leaves.slice(0, 100)));
    await expect(read(0, 1, 3)).rejects.toThrow('tile/0/001.p/3 is missing.');
  });
});
