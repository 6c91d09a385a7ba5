/** Files of the data directory are written as a whole: drafts beside them, of which none stays. */
import { randomUUID } from 'node:crypto';
import { link, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { prepareDataDirectory } from '#app/service/dataDirectory.js';
import { writeWhole } from '#app/supervision/files.js';

let DATA_DIR: string;
beforeEach(async () => {
  DATA_DIR = await mkdtemp(join(tmpdir(), 'data-directory-'));
});
afterEach(() => rm(DATA_DIR, { recursive: true }));

it('a file is replaced as a whole, or stays as the first has written it', async () => {
  const file = join(DATA_DIR, 'audit/checkpoint');
  for (const text of ['one', 'two']) await writeWhole(file, text);
  await writeWhole(file, 'three', link);
  expect(await readFile(file, 'utf8')).toBe('two');
  expect(await readdir(join(DATA_DIR, 'audit'))).toEqual(['checkpoint']);
});

it('a start removes drafts of killed processes, not those of running ones, and nothing else', async () => {
  const old = [`log-id.${randomUUID()}.part`, 'directory.jsonl.4711', 'notes.part', 'directory.jsonl'];
  const running = `last-backup.${randomUUID()}.part`;
  for (const name of [...old, running]) await writeFile(join(DATA_DIR, name), '');
  const anHourAgo = Date.now() / 1000 - 3_600;
  for (const name of old) await utimes(join(DATA_DIR, name), anHourAgo, anHourAgo);
  await prepareDataDirectory({ DATA_DIR });
  expect((await readdir(DATA_DIR)).sort()).toEqual(['directory.jsonl', running, 'notes.part']);
});
