/** Changes the embedded log's file in several ways: a checkpoint that was kept elsewhere shows each, and which event is the first. */
import { copyFile, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSqliteEventStore } from '#app/adapters/eventstore/sqlite/logFile.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { makeCheckpoint, openCheckpointKeys } from '#app/audit/checkpoints.js';
import { catchUp } from '#app/audit/logTree.js';
import { type Checkpoint, parseCheckpoint } from '#app/audit/note.js';
import { TileFiles } from '#app/audit/tiles.js';
import { type Verification, verifyLog } from '#app/audit/verify.js';
import { openTree } from '#app/service/auditTree.js';
import { event } from '../contract/eventStoreFixtures.js';

const EVENTS = 300;
const STREAMS = ['order-acme.1', 'order-acme.2', 'table-acme.dyn_item', 'tenant-acme'];

let directory: string;
let checkpoint: Checkpoint;
let tiles: TileFiles;
let original: string;
let copy: string;

async function withLog<T>(file: string, use: (log: Awaited<ReturnType<typeof openSqliteEventStore>>) => Promise<T>) {
  const log = await openSqliteEventStore({ file, durability: 'normal' });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tamperings-'));
  [original, copy] = [join(directory, 'events.db'), join(directory, 'copy.db')];
  await withLog(original, async (log) => {
    await log.identity();
    for (let number = 0; number < EVENTS; ) {
      const stream = STREAMS[number % STREAMS.length] ?? '';
      const append = Array.from({ length: 1 + (number % 3) }, () => {
        number += 1;
        return event({ number, text: `Zoë ordered ${number}` }, `Kind${number % 3}`);
      });
      await log.append(stream, append, 'any');
    }
    const audit = join(directory, 'audit');
    const tree = await openTree(log, audit);
    await catchUp(log, tree);
    const note = await makeCheckpoint(tree, await openCheckpointKeys(join(directory, 'keys')), {
      directory: audit,
      published: undefined,
    });
    tree.index.close();
    checkpoint = parseCheckpoint(note ?? '');
    tiles = new TileFiles(audit);
  });
});
afterAll(() => rm(directory, { recursive: true }));

type Examined = { readonly found: boolean; readonly verification?: Verification };

async function examine(file: string): Promise<Examined> {
  try {
    const { faults } = checkSqliteEventStore(file);
    const verification = await withLog(file, (log) => verifyLog(log, tiles, checkpoint));
    const { holds, unreadable } = verification;
    return { found: faults.length > 0 || !holds || unreadable !== undefined, verification };
  } catch {
    // The file cannot be opened or read any more.
    return { found: true };
  }
}

function inCopy(sql: string): void {
  const db = openSqlite(copy);
  try {
    db.exec(sql);
  } finally {
    db.close();
  }
}

/** Past positions that are taken, which the file lets no two events have. */
const swapped = (one: number, other: number): string =>
  [
    [one, -1],
    [other, one],
    [-1, other],
  ]
    .map(([from, to]) => `UPDATE events SET position = ${to} WHERE position = ${from}`)
    .join(';');

const EVENT = 'WHERE position = 120';
/** What is done, and the index of the leaf that is named, where it is known. */
const TAMPERINGS: readonly (readonly [what: string, sql: string, named: number | undefined])[] = [
  ['what an event says', `UPDATE events SET data = '{"number":-1}' ${EVENT}`, 119],
  ['a letter of its metadata', `UPDATE events SET metadata = replace(metadata, 'acme', 'acne') ${EVENT}`, 119],
  ['its id', `UPDATE events SET event_id = randomblob(16) ${EVENT}`, 119],
  [
    'its type',
    `UPDATE events SET type_id = (SELECT max(type_id) + min(type_id) FROM event_types) - type_id ${EVENT}`,
    119,
  ],
  ['its stream', `UPDATE events SET stream_id = (SELECT stream_id FROM streams WHERE name LIKE 'log%') ${EVENT}`, 119],
  ['its revision', `UPDATE events SET revision = revision + 1000 ${EVENT}`, 119],
  ['the order of two events', swapped(120, 200), 119],
  ['an event that is gone', `DELETE FROM events ${EVENT}`, 119],
  [
    'one that is gone without a gap',
    `DELETE FROM events ${EVENT}; UPDATE events SET position = -position WHERE position > 120;
     UPDATE events SET position = -position - 1 WHERE position < 0`,
    119,
  ],
  [
    'the end cut off',
    'DELETE FROM events WHERE position > (SELECT max(position) FROM events WHERE following = 0 AND position < 200)',
    undefined,
  ],
];

beforeEach(async () => {
  for (const end of ['', '-wal', '-shm']) await rm(`${copy}${end}`, { force: true });
  await copyFile(original, copy);
});

test('an untouched log holds, also with events behind the checkpoint', async () => {
  expect(await examine(copy)).toMatchObject({ found: false, verification: { holds: true } });
  await withLog(copy, (log) => {
    return log.append('order-acme.1', [event({}, 'Kind1')], 'any');
  });
  expect(await examine(copy)).toMatchObject({ found: false, verification: { events: checkpoint.size + 1 } });
});

test.each(TAMPERINGS)('%s is found, and the first changed event is named', async (_, sql, named) => {
  inCopy(sql);
  const { found, verification } = await examine(copy);
  expect(found).toBe(true);
  if (named !== undefined) expect(verification?.changed).toMatchObject({ index: named });
});
