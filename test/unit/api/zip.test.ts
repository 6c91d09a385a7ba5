import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32, inflateRawSync } from 'node:zlib';
import { ZipArchive, ZipFile } from '#app/api/export/zip.js';

const text = 'żółć ☕ '.repeat(60_000);

async function archiveOf(files: { readonly [name: string]: readonly string[] }): Promise<Buffer> {
  const archive = new ZipArchive(new Date('2026-11-21T03:11:47Z'));
  const bytes: Uint8Array[] = [];
  for (const [name, pieces] of Object.entries(files)) {
    const file = new ZipFile(name);
    for (const piece of pieces) await file.write(piece);
    bytes.push(...(await archive.add(file)));
  }
  return Buffer.concat([...bytes, archive.end()]);
}

test('a file that was written in pieces is the same when it is taken out, and so is an empty one', async () => {
  const file = new ZipFile('long.txt');
  for (let at = 0; at < text.length; at += 7_001) await file.write(text.slice(at, at + 7_001));
  const { compressed, bytes, size, crc } = await file.end();
  const whole = Buffer.concat(compressed);
  expect([whole.length, size, crc]).toEqual([bytes, Buffer.byteLength(text), crc32(text)]);
  expect(String(inflateRawSync(whole)) === text).toBe(true);
  expect(String(inflateRawSync(Buffer.concat((await new ZipFile('empty').end()).compressed)))).toBe('');
});

const isThere = spawnSync('python3', ['--version']).status === 0;
(isThere ? test : test.skip)('another program reads names, contents, times and sums', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'zip-'));
  try {
    await writeFile(
      join(directory, 'a.zip'),
      await archiveOf({ 'a/b.txt': ['one', ' two'], 'empty.txt': [], 'long.txt': [text] }),
    );
    const program = `
import zipfile
archive = zipfile.ZipFile("a.zip")
assert archive.testzip() is None
print([(each.filename, each.file_size, each.date_time, oct(each.external_attr >> 16)) for each in archive.infolist()])
print(archive.read("a/b.txt"))`;
    const { stdout, stderr } = spawnSync('python3', ['-c', program], { cwd: directory, encoding: 'utf8' });
    expect(stderr).toBe('');
    const time = '(2026, 11, 21, 3, 11, 46)';
    const shown = (name: string, size: number) => `('${name}', ${size}, ${time}, '0o100644')`;
    const files = [shown('a/b.txt', 7), shown('empty.txt', 0), shown('long.txt', Buffer.byteLength(text))];
    expect(stdout).toBe(`[${files.join(', ')}]\nb'one two'\n`);
  } finally {
    await rm(directory, { recursive: true });
  }
});
