/** The directory between two starts: how much is read again, and that it always agrees with the log. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { openDirectoryStore } from '#app/adapters/directory/store.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { newId, now } from '#app/commands/clock.js';
import type { Caller } from '#app/commands/context.js';
import { createClient } from '#app/commands/identity/clients.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { Directory } from '#app/directory/directory.js';
import type { DirectoryStore } from '#app/ports/directoryStore.js';
import type { EventStore, Position } from '#app/ports/eventStore.js';

let folder: string;
let log: EventStore;
const opened: Directory[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'directory-'));
  log = await openSqliteEventStore({ file: join(folder, 'events.db') });
});
afterEach(async () => {
  for (const directory of opened.splice(0)) await directory.stop();
  await log.close();
  await rm(folder, { recursive: true, force: true });
});

const file = () => join(folder, 'directory.db');
const store = (shape = 'shape') => openDirectoryStore(file(), shape);

async function start(kept: DirectoryStore, onStoreError: (error: unknown) => void = fail): Promise<Directory> {
  const directory = await Directory.start(log, fail, { store: kept, onError: onStoreError });
  opened.push(directory);
  return directory;
}

async function stop(directory: Directory): Promise<void> {
  opened.splice(opened.indexOf(directory), 1);
  await directory.stop();
}

function fail(error: unknown): never {
  throw error;
}

const callerOf = (tenant: string): Caller => ({
  tenant,
  actor: { kind: 'operator', id: 'test' },
  correlationId: newId(),
  causationId: newId(),
});

const STOCK = { orderModel: 'dyn_stock_order' };

async function makeTenant(directory: Directory, name: string): Promise<void> {
  const commands = { eventStore: log, directory, now, newId };
  await createTenant(commands, callerOf(name), STOCK);
}

const makeClient = async (directory: Directory, tenant: string) =>
  (await createClient({ eventStore: log, directory, now, newId }, callerOf(tenant), { name: 'ERP' })).clientId;

const shown = (directory: Directory) => [...directory.tenants()];

/** From where the log is read, each time that it is. */
function recordReads(): Position[] {
  const reads: Position[] = [];
  const subscribe = log.subscribe.bind(log);
  log.subscribe = (options) => {
    reads.push(options.after);
    return subscribe(options);
  };
  return reads;
}

it('a start goes on from where the one before stopped, with the same tenants', async () => {
  const first = await start(store());
  await makeTenant(first, 'acme');
  await makeClient(first, 'acme');
  const tenants = structuredClone(shown(first));
  await stop(first);
  const reads = recordReads();
  const second = await start(store());
  expect(reads).toEqual([await log.head()]);
  expect(shown(second)).toEqual(tenants);
  await makeTenant(second, 'rival');
  expect(second.tenant('rival')).toBeDefined();
});

it('a process that is killed has stored what it knew a moment before', async () => {
  const killed = await start(store());
  await makeTenant(killed, 'acme');
  const clientId = await makeClient(killed, 'acme');
  const position = killed.position;
  const reader = store();
  while ((await reader.load())?.place.position !== position) await wait(50);
  await reader.close();
  const reads = recordReads();
  const next = await start(store());
  expect(reads).toEqual([position]);
  expect(next.tenant('acme')?.clients.get(clientId)).toBeDefined();
});

it('a damaged file is logged, and replaced', async () => {
  await writeFile(file(), 'this is no database, however long it is read'.repeat(100));
  const errors: unknown[] = [];
  const first = await start(store(), (error) => errors.push(error));
  expect(errors).toHaveLength(1);
  await makeTenant(first, 'acme');
  await stop(first);
  const reads = recordReads();
  await start(store());
  expect(reads).toEqual([await log.head()]);
});

it('a directory that cannot be stored goes on, says so once, and is stored whole when it can be', async () => {
  const kept = store();
  const failing: DirectoryStore = {
    load: () => kept.load(),
    save: (place, changed) => (isFull ? Promise.reject(new Error('disk full')) : kept.save(place, changed)),
    replace: (place, tenants) => (isFull ? Promise.reject(new Error('disk full')) : kept.replace(place, tenants)),
    close: () => kept.close(),
  };
  let isFull = false;
  const first = await start(failing);
  await makeTenant(first, 'acme');
  await stop(first);
  const errors: unknown[] = [];
  const second = await start(failing, (error) => errors.push(error));
  isFull = true;
  await makeClient(second, 'acme');
  while (errors.length === 0) await wait(50);
  const clientId = await makeClient(second, 'acme');
  expect(second.tenant('acme')?.clients.size).toBe(2);
  isFull = false;
  const tenants = structuredClone(shown(second));
  await stop(second);
  expect(errors).toHaveLength(1);
  const third = await start(store());
  expect(shown(third)).toEqual(tenants);
  expect(third.tenant('acme')?.clients.has(clientId)).toBe(true);
});
