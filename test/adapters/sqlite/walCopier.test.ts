import { closeSync, mkdtempSync, openSync, readSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openConnection } from '#app/adapters/readmodels/sqlite/connections.js';
import { WalCopier } from '#app/adapters/readmodels/sqlite/threads/walCopier.js';
import { openSqliteReadModelWriter } from '#app/adapters/readmodels/sqlite/write/writer.js';
import { acmePlaces, at, fill, insert, write } from '../../contract/readModelsFixture.js';

const directory = mkdtempSync(join(tmpdir(), 'wal-'));
afterAll(() => rmSync(directory, { recursive: true }));

test('the write-ahead log starts over while it is still short, although the writer never rests', async () => {
  const file = join(directory, 'readmodels.db');
  const writer = await openSqliteReadModelWriter({ file });
  await fill(writer, [insert(1, {})]);
  const log = openSync(`${file}-wal`, 'r');
  /** Field "checkpoint sequence number" of the WAL's header (SQLite file format, 4.1): one more each time it starts over. */
  const sequence = () => {
    const field = Buffer.alloc(4);
    readSync(log, field, 0, 4, 12);
    return field.readUInt32BE();
  };
  const first = sequence();
  const notes = 'n'.repeat(100_000);
  for (let n = 2; sequence() === first; n++) {
    await write(writer, () => writer.applyToTable(acmePlaces, [insert(n, { notes })], { revision: n, at: at(n) }));
    await wait(1);
  }
  // By itself SQLite does so at 128 MB.
  expect(statSync(`${file}-wal`).size).toBeLessThan(80_000_000);
  closeSync(log);
  await writer.close();
});

test('the writer is asked for its part only after a commit: at any other time it may be in a transaction, or closed', async () => {
  const file = join(directory, 'asked.db');
  const db = openConnection({ file, cacheMegabytes: 1, readOnly: false });
  db.exec('CREATE TABLE notes (text TEXT)');
  db.prepare('INSERT INTO notes VALUES (?)').run('n'.repeat(20_000_000));
  let asked = 0;
  const copier = new WalCopier({ file }, () => asked++);
  copier.committed();
  copier.committed();
  await wait(1_000);
  expect(asked).toBe(0);
  copier.committed();
  expect(asked).toBe(1);
  await copier.close();
  db.close();
});
