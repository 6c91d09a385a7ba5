/** Changes of a tenant's settings cost the same however many there were: a decision takes the tenant from the directory. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDirectoryStore } from '#app/adapters/directory/store.js';
import { openSqliteEventStore } from '#app/adapters/eventstore/sqlite/store.js';
import { type Application, openApplication } from '#app/commands/application.js';
import { newId, now } from '#app/commands/clock.js';
import { type Commands, NotFoundError } from '#app/commands/context.js';
import { createTenant, deleteTenant } from '#app/commands/identity/tenants.js';
import { changeWebhook, createWebhook, removeWebhook } from '#app/commands/webhooks/settings.js';
import { Directory } from '#app/directory/directory.js';
import type { KnownTenant } from '#app/domain/identity/directory.js';
import { webhooksStream } from '#app/domain/streams.js';
import { type EventStore, storeWith } from '#app/ports/eventStore.js';

const caller = {
  tenant: 'acme',
  actor: { kind: 'user', id: '1', name: 'Ada' },
  correlationId: 'c',
  causationId: 'c',
} as const;
const anywhere = async (): Promise<undefined> => undefined;
const fail = (error: unknown): void => {
  throw error;
};

/** A process: its directory in memory, and how many events its commands read, and appends they lost. */
class Process {
  events = 0;
  conflicts = 0;
  readonly commands: Application;

  private constructor(
    eventStore: EventStore,
    readonly directory: Directory,
  ) {
    const counted = storeWith(eventStore, {
      readSlice: async (...args) => {
        const slice = await eventStore.readSlice(...args);
        this.events += slice.events.length;
        return slice;
      },
      append: (...args) =>
        eventStore.append(...args).catch((error: unknown) => {
          this.conflicts += 1;
          throw error;
        }),
    });
    const secretBox = { seal: (text: string) => text, open: (text: string) => text, reseal: () => undefined };
    this.commands = openApplication({ eventStore: counted, directory, secretBox, now, newId } as unknown as Commands);
  }

  static async start(eventStore: EventStore, path: string): Promise<Process> {
    const keeping = { store: openDirectoryStore(join(path, 'directory.db'), 'test'), onError: fail };
    return new Process(eventStore, await Directory.start(eventStore, fail, keeping));
  }

  async createWebhook(): Promise<string> {
    return (await createWebhook(this.commands, caller, { url: 'https://erp.example.com/' }, anywhere)).id;
  }

  rename(id: string, name: string): Promise<unknown> {
    return changeWebhook(this.commands, caller, id, { name }, anywhere);
  }

  /** Events that one more change reads. */
  async readsForChange(id: string, name: string): Promise<number> {
    const before = this.events;
    await this.rename(id, name);
    return this.events - before;
  }
}

let path: string;
let eventStore: EventStore;
let one: Process;

beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'directory-changes-'));
  eventStore = await openSqliteEventStore({ file: join(path, 'events.db') });
  one = await Process.start(eventStore, path);
  await createTenant(one.commands, caller, { orderModel: 'dyn_stock_order' });
});

afterEach(async () => {
  await one.directory.stop();
  await eventStore.close();
  await rm(path, { recursive: true, force: true });
});

it('a change reads two events, after any number of changes and after a restart', async () => {
  const id = await one.createWebhook();
  for (let n = 0; n < 150; n++) await one.rename(id, `name ${n}`);
  expect(await one.readsForChange(id, 'one more')).toBe(2);
  await one.directory.stop();
  one = await Process.start(eventStore, path);
  expect(await one.readsForChange(id, 'after the restart')).toBe(2);
  expect(one.directory.tenant('acme')?.webhooks.get(id)?.name).toBe('after the restart');
});

describe('a process whose directory is behind', () => {
  /** Commands on the directory as it is now. */
  function behind(change: (known: KnownTenant) => KnownTenant = (known) => known): Application {
    const known = one.directory.known('acme');
    if (known === undefined) throw new Error('The tenant is missing.');
    const { tenant, ends } = change(known);
    const directory = { known: () => ({ tenant, ends }), waitFor: async () => undefined };
    return { ...one.commands, directory } as unknown as Application;
  }

  it('decides on what others have written since', async () => {
    const gone = await one.createWebhook();
    const commands = behind();
    const id = await one.createWebhook();
    await removeWebhook(one.commands, caller, gone);
    await changeWebhook(commands, caller, id, { name: 'known' }, anywhere);
    await expect(changeWebhook(commands, caller, gone, { name: 'gone' }, anywhere)).rejects.toBeInstanceOf(
      NotFoundError,
    );
    await deleteTenant(one.commands, caller);
    await expect(changeWebhook(commands, caller, id, { name: 'late' }, anywhere)).rejects.toThrow('was deleted');
  });

  it('decides on the log alone when that lacks what the directory has read', async () => {
    const id = await one.createWebhook();
    const stream = webhooksStream('acme');
    const commands = behind(({ tenant, ends }) => ({
      tenant: { ...tenant, webhooks: new Map() },
      ends: new Map(ends).set(stream, { revision: 0, eventId: newId() }),
    }));
    await changeWebhook(commands, caller, id, { name: 'found' }, anywhere);
    expect((await eventStore.readStream(stream)).at(-1)).toMatchObject({ type: 'WebhookChanged' });
  });
});
