import { existsSync, mkdtempSync, readlinkSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RowFiles } from '#app/adapters/rows/sqlite/files.js';
import { openRowWriter } from '#app/adapters/rows/sqlite/writer.js';
import { copyOf, RowsLostError } from '#app/ports/rowStore.js';
import { rebuild } from '#app/projections/copies.js';
import { FollowedLog, Following } from '../support/followedLog.js';

let directory: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'rows-'));
});
afterEach(() => rmSync(directory, { recursive: true }));

test('a rebuild that is cancelled in the middle leaves the tenant as it was', async () => {
  const log = await FollowedLog.open();
  const writer = openRowWriter({ directory });
  await log.create('acme');
  for (let n = 0; n < 60; n += 1) await log.items('acme', 500);
  const started = new Following(log, writer);
  try {
    await started.running('acme').catch(() => undefined);
    const position = await log.item('acme', 'Last');
    await started.applied('acme', position);
    const cancelling = new AbortController();
    const cancel = (done: number) => done > 0 && cancelling.abort(new Error('It was cancelled.'));
    const working = rebuild(started.follower, 'acme', { signal: cancelling.signal, onProgress: cancel });
    await expect(working).rejects.toThrow('It was cancelled.');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(started.news.filter(({ kind }) => kind === 'parked')).toEqual([]);
    expect(await writer.progress('acme')).toMatchObject({ state: 'running', position });
    await started.applied('acme', await log.item('acme', 'After'));
  } finally {
    await started.stop().catch(() => undefined);
    await writer.close();
    await log.close();
  }
});

test('what a checkpoint covers is flushed before it is kept, also what is applied meanwhile, and before a mark', async () => {
  const writer = openRowWriter({ directory });
  const flushed: string[] = [];
  const flush = RowFiles.prototype.flush;
  RowFiles.prototype.flush = async function (tenant) {
    flushed.push(tenant);
    return flush.call(this, tenant);
  };
  try {
    const slice = (position: number) => ({ writes: [], position });
    await writer.apply('before-mark', slice(1));
    await writer.mark('other', 'filling');
    await writer.apply('first', slice(2));
    const keeping = writer.keep({ log: 'x', position: 2 });
    await writer.apply('meanwhile', slice(3));
    await keeping;
    await writer.keep({ log: 'x', position: 3 });
    expect([...new Set(flushed)].sort()).toEqual(['before-mark', 'first', 'meanwhile', 'other']);
  } finally {
    RowFiles.prototype.flush = flush;
    await writer.close();
  }
});

test('rows that are lost while they are copied, and the copy, have files of their own', async () => {
  const writer = openRowWriter({ directory });
  await writer.apply('acme', { writes: [], position: 1 });
  await writer.apply(copyOf('acme'), { writes: [], position: 1 });
  const file = readlinkSync(join(directory, 'acme.db'));
  rmSync(join(directory, file));
  const lose = () => new RowFiles(directory).lose('acme', join(directory, file));
  lose();
  expect(await writer.keep(undefined)).toEqual([expect.any(RowsLostError)]);
  // Another reader finds it lost when others have taken its place.
  lose();
  expect(await writer.keep(undefined)).toEqual([]);
  await writer.remove(copyOf('acme'));
  expect(existsSync(join(directory, 'acme.db'))).toBe(true);
  await writer.close();
});
