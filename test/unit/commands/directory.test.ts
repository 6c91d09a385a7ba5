/** Changes of one directory stream that come at once, and those whose callers no longer wait. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { type Caller, type Commands, ConflictError, RequestDeadline } from '#app/commands/context.js';
import { createClient } from '#app/commands/identity/clients.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { MAX_CLIENTS } from '#app/domain/limits.js';
import { clientsStream } from '#app/domain/streams.js';
import type { EventStore } from '#app/ports/eventStore.js';
import { DeadlineError } from '#app/supervision/deadline.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { tenant } = caller;
const STREAM = clientsStream(tenant);

/** A tenant with one client less than it may have. */
async function open() {
  const directory = { waitFor: async () => undefined };
  const log = new LogInMemory();
  const commands = { ...log.commands(), directory } as unknown as Commands;
  const add = (by = commands, as: Caller = caller) => createClient(by, as, { name: 'ERP' });
  await createTenant(commands, caller, { orderModel: 'dyn_stock_order' });
  await Promise.all(Array.from({ length: MAX_CLIENTS - 1 }, () => add()));
  return { log, commands, add };
}

test('those that come at once share appends, and each is decided on what those before it leave', async () => {
  const { log, add } = await open();
  expect(new Set(log.stream(STREAM).map((event) => event.metadata.occurredAt)).size).toBeLessThan(MAX_CLIENTS / 50);
  const [last, beyond] = await Promise.allSettled([add(), add()]);
  expect(last).toMatchObject({ value: { tenant: { clients: { size: MAX_CLIENTS } } } });
  expect(beyond).toMatchObject({ reason: expect.any(ConflictError) });
});

test('nothing more is read for a caller whose time has ended', async () => {
  const { commands, add } = await open();
  const deadline = new RequestDeadline(60_000, () => new DeadlineError('It took too long.'));
  let pages = 0;
  const readSlice: EventStore['readSlice'] = async (stream, range) => {
    if (stream === STREAM && ++pages === 2) deadline.cancel(new DeadlineError('It took too long.'));
    return commands.eventStore.readSlice(stream, range);
  };
  const late = add({ ...commands, eventStore: { ...commands.eventStore, readSlice } }, { ...caller, deadline });
  await expect(late).rejects.toThrow(DeadlineError);
  deadline.end();
  for (let turn = 0; turn < 10; turn++) await nextTurn();
  expect(pages).toBe(2);
});
