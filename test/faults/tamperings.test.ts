/** Changes the embedded log's file in many ways, and looks whether a checkpoint that was kept elsewhere shows it. TAMPERINGS sets how many. */
import { copyFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { checkSqliteEventStore } from '#app/adapters/eventstore/sqlite/logFile.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { openCheckpointKeys } from '#app/audit/checkpointKeys.js';
import { makeCheckpoint } from '#app/audit/checkpoints.js';
import { catchUp } from '#app/audit/logTree.js';
import { type Checkpoint, parseCheckpoint } from '#app/audit/note.js';
import { TileFiles } from '#app/audit/tiles.js';
import { type Verification, verifyLog } from '#app/audit/verify.js';
import { openTree } from '#app/service/treeFiles.js';
import { event, storedSlices } from '../contract/eventStoreFixtures.js';
import { seeded } from './seeded.js';

const TAMPERINGS = Number(process.env.TAMPERINGS ?? 50);
const EVENTS = 300;
const MINUTE = 60_000;
const START = Date.parse('2026-11-01T00:00:00Z');
const timeOf = (number: number): string => new Date(START + number * MINUTE).toISOString().replace('Z', '000Z');

let directory: string;
let checkpoint: Checkpoint;
let tiles: TileFiles;
let contents: string;
let original: string;
let copy: string;

/** Seeded with the number of the tampering, so that one can be repeated. */
let next = seeded(0);
const random = (below: number): number => Math.floor(next() * below);
const oneOf = <T>(values: readonly T[]): T => {
  const value = values[random(values.length)];
  if (value === undefined) throw new Error('There is none.');
  return value;
};

async function withLog<T>(file: string, use: (log: Awaited<ReturnType<typeof openSqliteEventStore>>) => Promise<T>) {
  const log = await openSqliteEventStore({ file, durability: 'normal' });
  try {
    return await use(log);
  } finally {
    await log.close();
  }
}

const read = (file: string): Promise<string> =>
  withLog(file, async (log) => JSON.stringify((await storedSlices(log, { after: 0 })).flatMap(({ events }) => events)));

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tamperings-'));
  [original, copy] = [join(directory, 'events.db'), join(directory, 'copy.db')];
  await withLog(original, async (log) => {
    await log.identity();
    for (let number = 0; number < EVENTS; ) {
      const stream = oneOf(['order-acme.1', 'order-acme.2', 'table-acme.dyn_item', 'tenant-acme']);
      const append = Array.from({ length: 1 + random(4) }, () => {
        const given = event({ number, text: `Zoë ${number} ordered ${random(1_000_000)}` }, `Kind${random(3)}`);
        number += 1;
        return { ...given, metadata: { ...given.metadata, occurredAt: timeOf(number) } };
      });
      await log.append(stream, append, 'any');
    }
    const audit = join(directory, 'audit');
    const { tree, index } = await openTree(log, audit);
    await catchUp(log, tree);
    const note = await makeCheckpoint(tree, await openCheckpointKeys(join(directory, 'keys')), {
      directory: audit,
      published: undefined,
    });
    index.close();
    checkpoint = parseCheckpoint(note);
    tiles = new TileFiles(audit);
  });
  contents = await read(original);
});
afterAll(() => rm(directory, { recursive: true }));

type Examined = { readonly found: boolean; readonly verification?: Verification };

async function examine(file: string): Promise<Examined> {
  try {
    const { faults } = checkSqliteEventStore(file);
    const verification = await withLog(file, (log) => verifyLog(log, tiles, [checkpoint]));
    const { changed, misdated, unreadable, checkpoints } = verification;
    const holds = changed === undefined && misdated.length === 0 && unreadable === undefined;
    return { found: faults.length > 0 || !holds || checkpoints.some((each) => !each.holds), verification };
  } catch {
    // The file cannot be opened or read any more.
    return { found: true };
  }
}

type Row = { position: number; revision: number; following: number; stream_id: number; data: string };

/** Works on the copy. @returns the index of the leaf that must be named, where it is known */
function inCopy(
  change: (run: (sql: string, ...values: unknown[]) => void, rows: readonly Row[]) => number | undefined,
) {
  const db = openSqlite(copy);
  try {
    const rows = db
      .prepare<[], Row>('SELECT position, revision, following, stream_id, data FROM events ORDER BY position')
      .all();
    return db.transaction(() => change((sql, ...values) => db.prepare(sql).run(...values), rows))();
  } finally {
    db.close();
  }
}

const swap = (run: (sql: string, ...values: unknown[]) => void, one: number, other: number): void => {
  for (const [from, to] of [
    [one, -1],
    [other, one],
    [-1, other],
  ] as const)
    run('UPDATE events SET position = ? WHERE position = ?', to, from);
};

const TAMPERS: { readonly [what: string]: () => number | undefined } = {
  'a byte of the file': () => {
    const bytes = readFileSync(copy);
    const at = random(bytes.length);
    bytes[at] = (bytes[at] ?? 0) ^ (1 << random(8));
    writeFileSync(copy, bytes);
    return undefined;
  },
  'a byte of what happened': () => {
    const bytes = readFileSync(copy);
    const number = random(EVENTS);
    const from = 10 + random(2) * (String(number).length + 9);
    // Of the digits of the number, or of the text behind it; also in what a page has kept of an earlier place of the row.
    const text = `{"number":${number},`;
    for (let at = bytes.indexOf(text); at >= 0; at = bytes.indexOf(text, at + 15))
      bytes[at + from] = (bytes[at + from] ?? 0) ^ 1;
    writeFileSync(copy, bytes);
    return undefined;
  },
  'a row': () =>
    inCopy((run, rows) => {
      const { position } = oneOf(rows.slice(1));
      const [column, value] = oneOf([
        ['data', '\'{"number":-1}\''],
        ['metadata', "replace(metadata, 'Zoë', 'Zoe')"],
        ['event_id', 'randomblob(16)'],
        ['type_id', '(SELECT type_id FROM event_types WHERE type_id <> events.type_id LIMIT 1)'],
        ['stream_id', "(SELECT stream_id FROM streams WHERE name LIKE 'log%')"],
        ['category_id', '(SELECT category_id FROM categories WHERE category_id <> events.category_id LIMIT 1)'],
        ['revision', 'revision + 1000'],
      ] as const);
      run(`UPDATE events SET ${column} = ${value} WHERE position = ?`, position);
      return column === 'category_id' ? undefined : position - 1;
    }),
  'the order of two rows': () =>
    inCopy((run, rows) => {
      const [one, other] = [random(rows.length - 1) + 1, random(rows.length - 1) + 1];
      if (one === other) run('DELETE FROM events WHERE position = ?', one);
      else swap(run, one, other);
      return Math.min(one, other) - 1;
    }),
  'the revisions of two events of a stream': () =>
    inCopy((run, rows) => {
      const { stream_id: stream } = oneOf(rows.slice(1));
      const [one, other] = [...rows.filter((row) => row.stream_id === stream)].slice(0, 2);
      if (one === undefined || other === undefined) throw new Error('The stream has one event.');
      for (const [revision, position] of [
        [-1, one.position],
        [one.revision, other.position],
        [other.revision, one.position],
      ] as const)
        run('UPDATE events SET revision = ? WHERE position = ?', revision, position);
      return one.position - 1;
    }),
  'a removal that closes the gap': () =>
    inCopy((run, rows) => {
      const { position, revision, stream_id: stream } = oneOf(rows.slice(1));
      run('DELETE FROM events WHERE position = ?', position);
      for (const row of rows) {
        if (row.position <= position) continue;
        const isSame = row.stream_id === stream && row.revision > revision;
        run(
          'UPDATE events SET position = ?, revision = ? WHERE position = ?',
          row.position - 1,
          row.revision - Number(isSame),
          row.position,
        );
      }
      return position - 1;
    }),
  'the end cut off': () =>
    inCopy((run, rows) => {
      const { position } = oneOf(rows.filter(({ following }, index) => index > 0 && following === 0).slice(0, -1));
      run('DELETE FROM events WHERE position > ?', position);
      return position;
    }),
  'two appends': () =>
    inCopy((run, rows) => {
      const appends: Row[][] = [[]];
      for (const row of rows) {
        appends.at(-1)?.push(row);
        if (row.following === 0) appends.push([]);
      }
      const at = 1 + random(appends.length - 3);
      const [first = [], second = []] = [appends[at], appends[at + 1]];
      let place = first[0]?.position ?? 0;
      const named = place - 1;
      run(
        'UPDATE events SET position = -position WHERE position BETWEEN ? AND ?',
        place,
        place + first.length + second.length - 1,
      );
      for (const row of [...second, ...first]) {
        run('UPDATE events SET position = ? WHERE position = ?', place, -row.position);
        place += 1;
      }
      return named;
    }),
  'an event at the end with a forged time': () =>
    inCopy((run, rows) => {
      const last = rows.at(-1);
      const early = timeOf(random(EVENTS - 10));
      run(
        `INSERT INTO events SELECT ?, stream_id, category_id, (SELECT max(revision) + 1 FROM events e WHERE e.stream_id = events.stream_id),
           0, type_id, randomblob(16), json_set(metadata, '$[4]', ?), data FROM events WHERE position = ?`,
        (last?.position ?? 0) + 1,
        early,
        oneOf(rows.slice(1)).position,
      );
      return undefined;
    }),
};

test('an untouched log holds, also with events behind the checkpoint', async () => {
  copyFileSync(original, copy);
  expect(await examine(copy)).toMatchObject({ found: false, verification: { held: checkpoint.size, mended: 0 } });
  await withLog(copy, (log) => {
    const late = event({}, 'Kind1');
    const occurredAt = timeOf(EVENTS + 1);
    return log.append('order-acme.1', [{ ...late, metadata: { ...late.metadata, occurredAt } }], 'any');
  });
  expect(await examine(copy)).toMatchObject({ found: false, verification: { events: checkpoint.size + 1 } });
});

test(`${TAMPERINGS} tamperings with the file are all found, and the first changed event is named`, async () => {
  const kinds = Object.keys(TAMPERS);
  const missed: string[] = [];
  for (let number = 0; number < TAMPERINGS; number += 1) {
    const what = kinds[number % kinds.length] ?? '';
    for (const end of ['', '-wal', '-shm']) rmSync(`${copy}${end}`, { force: true });
    copyFileSync(original, copy);
    next = seeded(number + 1);
    const named = TAMPERS[what]?.();
    const { found, verification } = await examine(copy);
    // A byte that nothing reads, as in the free space of a page, changes no event.
    const isHarmless = what === 'a byte of the file' && !found && (await read(copy)) === contents;
    if (!found && !isHarmless) missed.push(`${what}, number ${number}: not found`);
    const index = verification?.changed?.index;
    if (named !== undefined && (index !== named || verification?.changed?.exact !== true))
      missed.push(`${what}, number ${number}: named ${index} instead of ${named}`);
  }
  expect(missed).toEqual([]);
});
