import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import readline from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { openSqliteEventStore, type SqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { EventStoreUnavailableError, type RecordedEvent } from '#app/ports/eventStore.js';
import { seeded } from '../faults/seeded.js';
import { describeEventStore } from './eventStore.js';
import { event, events, firstEvents, ids, storedSlices } from './eventStoreFixtures.js';

const KILLS = Number(process.env.KILLS ?? 3);
const SEED = Number(process.env.SEED ?? 1);

const secondProcess = path.join(__dirname, 'eventStoreProcess.mjs');
const directories: string[] = [];

afterAll(async () => {
  for (const directory of directories) await fs.rm(directory, { recursive: true });
});

async function newFile(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'event-store-'));
  directories.push(directory);
  return path.join(directory, 'events.db');
}

describeEventStore('sqlite', async () => {
  const file = await newFile();
  const opened: SqliteEventStore[] = [];
  const open = async () => {
    const store = await openSqliteEventStore({ file });
    opened.push(store);
    return store;
  };
  const store = await open();
  return {
    store,
    openSecond: open,
    reopen: async () => {
      await store.close();
      return open();
    },
    close: async () => {
      for (const each of opened) await each.close();
    },
  };
});

describe('event store on an SQLite file', () => {
  let file: string;
  let store: SqliteEventStore;
  let patient: SqliteEventStore;
  beforeEach(async () => {
    file = await newFile();
    store = await openSqliteEventStore({ file, busyTimeoutMs: 50 });
    patient = await openSqliteEventStore({ file, pollMs: 3_600_000 });
  });
  afterEach(async () => {
    await patient.close();
    await store.close();
  });

  test('appends are stored in the order of their calls, also after one that takes long to make text of', async () => {
    const large = Array.from({ length: 400 }, () => event('é'.repeat(20_000)));
    const given = [large, [event()], large.map(({ data }) => event(data)), [event()], events(3)];
    const refused = store.append('order-refused', [event(), { ...event(), data: undefined }], 'any');
    const appends = given.map((append, n) => store.append(`order-${n}`, append, 'no-stream'));
    await expect(refused).rejects.toThrow(TypeError);
    const positions = (await Promise.all(appends)).map(({ position }) => position);
    expect(positions).toEqual(positions.toSorted((a, b) => a - b));
  });

  test('starts empty', async () => {
    expect(await store.head()).toBe(0);
    expect(await storedSlices(store, { after: 0 })).toEqual([{ events: [], position: 0, caughtUp: true }]);
  });

  test('commits appends that come together together', async () => {
    await Promise.all(Array.from({ length: 500 }, (_, n) => store.append(`order-${n % 50}`, events(1), 'any')));
    const { appends, commits } = store.appendStatistics();
    expect(appends).toBe(500);
    expect(commits).toBeLessThan(50);
  });

  test('fails only the append that conflicts, not those committed with it', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 30 }, (_, n) => store.append(`order-${n}`, events(1), n % 3 === 0 ? 7 : 'no-stream')),
    );
    expect(results.map(({ status }) => status)).toEqual(
      results.map((_, n) => (n % 3 === 0 ? 'rejected' : 'fulfilled')),
    );
    expect(await store.head()).toBe(20);
  });

  test('answers a repeated append whatever revision it expects', async () => {
    const given = events(2);
    const answer = await store.append('order-1', given, 'no-stream');
    await store.append('order-1', events(2), 1);
    for (const expected of [0, 1, 3, 99]) expect(await store.append('order-1', given, expected)).toEqual(answer);
  });

  test('answers an append of nothing after its check', async () => {
    await store.append('order-1', events(2), 'no-stream');
    expect(await store.append('order-1', [], 1)).toEqual({ revision: 1, position: 2 });
    await expect(store.append('order-1', [], 'no-stream')).rejects.toThrow('Stream order-1 is at 1');
  });

  test('refuses the same id twice in one append, and an id that is no UUID', async () => {
    const twice = event();
    await expect(store.append('order-1', [twice, { ...twice, id: twice.id.toUpperCase() }], 'any')).rejects.toThrow(
      'same id',
    );
    await expect(store.append('order-1', [{ ...event(), id: '1' }], 'any')).rejects.toThrow('not a UUID');
  });

  test('says that it is unavailable while another connection holds the file, and goes on after', async () => {
    const other = openSqlite(file);
    other.exec('BEGIN IMMEDIATE');
    await expect(store.append('order-1', events(1), 'any')).rejects.toThrow(EventStoreUnavailableError);
    other.exec('ROLLBACK');
    other.close();
    expect(await store.append('order-1', events(1), 'any')).toEqual({ revision: 0, position: 1 });
  });

  test('starts its appender thread again when that has died', async () => {
    await fs.rename(file, `${file}.aside`);
    await fs.mkdir(file);
    const appends = [store.append('order-1', events(1), 'any'), store.append('order-2', events(1), 'any')];
    for (const append of appends) await expect(append).rejects.toThrow(EventStoreUnavailableError);
    await fs.rmdir(file);
    await fs.rename(`${file}.aside`, file);
    expect((await store.append('order-1', events(1), 'any')).revision).toBe(0);
  });

  test('refuses a file of a newer release and leaves it alone', async () => {
    await patient.close();
    await store.close();
    const db = openSqlite(file);
    db.pragma('user_version = 99');
    db.close();
    await expect(openSqliteEventStore({ file })).rejects.toThrow('version 99, written by a newer release');
  });

  test('leaves one file behind when it is closed', async () => {
    await store.append('order-1', events(5), 'any');
    await patient.close();
    await store.close();
    expect(await fs.readdir(path.dirname(file))).toEqual(['events.db']);
  });

  test('ends its subscriptions when it is closed', async () => {
    const { signal } = new AbortController();
    for await (const slice of store.subscribe({ after: 0, signal })) {
      expect(slice.caughtUp).toBe(true);
      setImmediate(() => store.close());
    }
  });

  test('wakes its subscriptions by word of the append or the end, not by the poll', async () => {
    const ending = new AbortController();
    for await (const slice of patient.subscribe({ after: 0, signal: ending.signal })) {
      if (slice.position === 0) setImmediate(() => void store.append('order-1', events(1), 'any'));
      if (slice.position === 1) setTimeout(() => ending.abort(), 20); // when it waits
    }
    expect(await patient.head()).toBe(1);
  });

  test.each([
    ['looks by itself', 20, false],
    ['is asked how far the log is', 3_600_000, true],
  ])('finds what nothing told it of when it %s', async (_, pollMs, isAsked) => {
    const untold = await openSqliteEventStore({ file, pollMs });
    try {
      const seen = firstEvents(untold, { after: 0 }, 1);
      await wait(50); // until it waits
      insertAsIs(file);
      if (isAsked) expect(await untold.head()).toBe(1);
      expect((await seen).map(({ stream }) => stream)).toEqual(['a-1']);
    } finally {
      await untold.close();
    }
  });

  test('notices what another process appends, which then ends by itself', async () => {
    // It is told, and need not look.
    const seen = firstEvents(patient, { after: 0 }, 5);
    const child = spawn(process.execPath, [secondProcess, 'append', file, 'order-2nd', '5'], { stdio: 'inherit' });
    const exited = once(child, 'exit');
    expect((await seen).map(({ stream, revision }) => [stream, revision])).toEqual(
      [0, 1, 2, 3, 4].map((revision) => ['order-2nd', revision]),
    );
    expect(await exited).toEqual([0, null]);
    expect((await store.append('order-2nd', events(1), 4)).revision).toBe(5);
  });
});

test(`every acknowledged append survives kill -9, and no append survives in part (seed ${SEED})`, async () => {
  const random = seeded(SEED);
  const file = await newFile();
  const acknowledged: string[] = [];
  for (let round = 0; round < KILLS; round++) {
    acknowledged.push(...(await appendUntilKilled(file, 1 + Math.floor(random() * 400))));
    const store = await openSqliteEventStore({ file });
    const stored = (await storedSlices(store, { after: 0 })).flatMap((slice) => slice.events);
    const appends = partsByAppend(stored);
    for (const parts of appends.values()) expect(parts).toEqual([0, 1, 2]);
    expect(acknowledged.filter((append) => !appends.has(append))).toEqual([]);
    expect(stored.map(({ position }) => position)).toEqual(stored.map((_, index) => index + 1));
    expect(new Set(ids(stored)).size).toBe(stored.length);
    await store.close();
  }
  expect(acknowledged.length).toBeGreaterThan(0);
});

/** One event, by a program that tells nobody. */
function insertAsIs(file: string): void {
  const db = openSqlite(file);
  const metadata = JSON.stringify([
    'acme',
    { kind: 'system', id: 'test' },
    'test',
    'test',
    '2026-11-21T03:11:47.123456Z',
  ]);
  db.exec(`BEGIN;
    INSERT INTO event_types VALUES (1, 'ThingHappened', 1);
    INSERT INTO streams VALUES (1, 'a-1');
    INSERT INTO categories VALUES (1, 'a-');
    INSERT INTO events VALUES (1, 1, 1, 0, 0, 1, zeroblob(16), '${metadata}', '{}');
    COMMIT`);
  db.close();
}

/** Runs a process that appends, and kills it after so many acknowledgements. Returns those it printed. */
async function appendUntilKilled(file: string, wanted: number): Promise<readonly string[]> {
  const child = spawn(process.execPath, [secondProcess, 'forever', file], { stdio: ['ignore', 'pipe', 'inherit'] });
  const printed: string[] = [];
  for await (const line of readline.createInterface({ input: child.stdout })) {
    printed.push(line);
    if (printed.length === wanted) child.kill('SIGKILL');
  }
  return printed.filter((line) => line.length === 36); // the last one may be cut
}

function partsByAppend(stored: readonly RecordedEvent[]): ReadonlyMap<string, readonly number[]> {
  const appends = new Map<string, number[]>();
  for (const { data } of stored) {
    const { append, part } = Object(data);
    appends.set(append, [...(appends.get(append) ?? []), part]);
  }
  return appends;
}
