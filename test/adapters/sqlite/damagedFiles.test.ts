/** Whether a database that others write, or that a crash left, is taken for a damaged one. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { damageOf } from '#app/adapters/damagedFiles.js';
import { type Database, openSqlite } from '#app/adapters/openSqlite.js';

const HEADER = 32;
const FRAME = 24 + 4096;
const LOST = 'commits are missing in the middle of its write-ahead log';

let folder: string;
let file: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'dynamic-assets-'));
  file = join(folder, 'events.db');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A process that commits until it is killed, and starts its write-ahead log over again and again. */
const WRITER = `
  import { writeSync } from 'node:fs';
  import { openSqlite } from '${resolve('dist/adapters/openSqlite.js')}';
  const db = openSqlite(process.argv[1]);
  db.pragma('journal_mode = WAL');
  db.pragma('wal_autocheckpoint = 20');
  db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)');
  const put = db.prepare('REPLACE INTO t VALUES (?, ?)');
  const commit = db.transaction(() => { for (let n = 0; n < 5; n++) put.run(n, 'x'.repeat(3000)); });
  writeSync(1, 'begun');
  for (;;) commit();
`;

test('commits of another process while it is checked are no damage', async () => {
  const writer = spawn(process.execPath, ['--input-type=module', '-e', WRITER, file], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    await once(writer.stdout, 'data');
    for (let n = 0; n < 2_000; n++) expect(damageOf(file)).toBeUndefined();
  } finally {
    writer.kill('SIGKILL');
    await once(writer, 'exit');
  }
});

describe('the write-ahead log of a process that was killed', () => {
  let db: Database;
  /** How many frames the log had after each commit. */
  let ends: number[];

  const wal = (): Buffer => readFileSync(`${file}-wal`);
  const put = (rows: number): void => {
    db.transaction(() => {
      for (let n = 0; n < rows; n++) db.prepare('REPLACE INTO t VALUES (?, ?)').run(n, `${ends.length}`.repeat(3000));
    })();
    ends.push((wal().length - HEADER) / FRAME);
  };
  /** Checks a copy, as the next start finds it, with this write-ahead log. */
  const damageWith = (bytes: Buffer): string | undefined => {
    const copy = join(folder, 'copy.db');
    copyFileSync(file, copy);
    writeFileSync(`${copy}-wal`, bytes);
    try {
      return damageOf(copy);
    } finally {
      for (const end of ['', '-wal', '-shm']) rmSync(copy + end, { force: true });
    }
  };
  const overwritten = (frame: number): Buffer =>
    wal().fill(7, HEADER + frame * FRAME + 100, HEADER + frame * FRAME + 200);

  beforeEach(() => {
    db = openSqlite(file);
    db.pragma('journal_mode = WAL');
    db.pragma('wal_autocheckpoint = 0');
    db.exec('CREATE TABLE t (a INTEGER PRIMARY KEY, b TEXT)');
    ends = [];
    for (const rows of [3, 1, 8]) put(rows);
  });
  afterEach(() => db.close());

  it('is whole', () => expect(damageWith(wal())).toBeUndefined());

  it.each([0, 1, 2])('an invalid frame %i is damage, since commits follow', (frame) =>
    expect(damageWith(overwritten(frame))).toBe(LOST),
  );

  it('a damaged header is damage', () => expect(damageWith(wal().fill(7, 0, HEADER))).toBe(LOST));
  it('a damaged page size in the header is damage', () => expect(damageWith(wal().fill(255, 8, 12))).toBe(LOST));

  it('a last commit without its beginning is what a power cut left', () =>
    expect(damageWith(overwritten(ends.at(-2) ?? 0))).toBeUndefined());

  it('a last commit without its end is what a kill left', () =>
    expect(damageWith(wal().subarray(0, -FRAME))).toBeUndefined());

  it('a short commit over a longer one that was not published is what a kill left', () => {
    const long = wal();
    const [, start = 0] = ends;
    const copy = join(folder, 'shorter.db');
    copyFileSync(file, copy);
    writeFileSync(`${copy}-wal`, long.subarray(0, HEADER + start * FRAME));
    const other = openSqlite(copy);
    try {
      other.pragma('wal_autocheckpoint = 0');
      other.prepare('REPLACE INTO t VALUES (9, 1)').run();
      const short = readFileSync(`${copy}-wal`);
      expect(short.length).toBeLessThan(long.length);
      expect(damageWith(Buffer.concat([short, long.subarray(short.length)]))).toBeUndefined();
    } finally {
      other.close();
    }
  });
});
