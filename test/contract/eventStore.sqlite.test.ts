import fs from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { withCurrentEvents } from '#app/adapters/eventstore/everyStore.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { openSqlite } from '#app/adapters/openSqlite.js';
import { type EventStore, EventStoreUnavailableError } from '#app/ports/eventStore.js';
import { describeEventStore, logUnderTest } from './eventStore.js';
import { event, events } from './eventStoreFixtures.js';

const directories: string[] = [];

afterAll(async () => {
  for (const directory of directories) await fs.rm(directory, { recursive: true });
});

async function newFile(): Promise<string> {
  const directory = await fs.mkdtemp(path.join(os.tmpdir(), 'event-store-'));
  directories.push(directory);
  return path.join(directory, 'events.db');
}

describeEventStore('sqlite', () => newFile().then((file) => logUnderTest(() => openSqliteEventStore({ file }))));

describe('event store on an SQLite file', () => {
  let file: string;
  let store: EventStore;
  let other: EventStore;
  beforeEach(async () => {
    file = await newFile();
    store = await openSqliteEventStore({ file });
    other = await openSqliteEventStore({ file });
  });
  afterEach(async () => {
    await other.close();
    await store.close();
  });

  test('says that it is unavailable while another connection holds the file, and goes on after', async () => {
    const holder = openSqlite(file);
    holder.exec('BEGIN IMMEDIATE');
    await expect(store.append('order-1', events(1), 'any')).rejects.toThrow(EventStoreUnavailableError);
    holder.exec('ROLLBACK');
    holder.close();
    expect(await store.append('order-1', events(1), 'any')).toEqual({ revision: 0, position: 1 });
  });

  test('refuses a file of a newer release and leaves it alone', async () => {
    await other.close();
    await store.close();
    const db = openSqlite(file);
    db.pragma('user_version = 99');
    db.close();
    await expect(openSqliteEventStore({ file })).rejects.toThrow('version 99, written by a newer release');
  });

  it('lists the stored event types once for each schema version', async () => {
    await store.append('order-1', [event({}, 'Thing'), event({}, 'Thing'), event({}, 'Thing', 2)], 'any');
    expect(await store.storedEventTypes()).toEqual([
      { type: 'Thing', schemaVersion: 1 },
      { type: 'Thing', schemaVersion: 2 },
    ]);
  });

  it.each([
    ['type', 'New', 1],
    ['version', 'Old', 2],
  ])('is not read if it has an unknown %s', async (_, type, version) => {
    await store.append('order-1', [event({}, 'Old'), event({}, type, version)], 'no-stream');
    const types = { Old: {} };
    await expect(withCurrentEvents(store, types)).rejects.toThrow(`${type} version ${version}`);
  });
});
