/** Commands about a tenant on a log in memory: given events, when a command, then events, or a refusal that appends nothing. */
import { type Commands, ConflictError, NotFoundError, ValidationError } from '#app/commands/context.js';
import { toAppend } from '#app/commands/writeStream.js';
import type { DirectoryEvent } from '#app/domain/identity/events.js';
import { clientsStream, tenantStream, usersStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from './logInMemory.js';

const { actor, correlationId, causationId } = metadata;
export const { tenant } = metadata;
export const caller = { tenant, actor, correlationId, causationId };
export const TENANT = tenantStream(tenant);
export const USERS = usersStream(tenant);
export const CLIENTS = clientsStream(tenant);

export const created: DirectoryEvent = {
  type: 'TenantCreated',
  data: { name: tenant, displayName: 'Acme', orderModel: 'dyn_stock_order' },
};

/** A log with these events, and what has become of its streams since. */
export async function given(streams: { readonly [stream: string]: readonly DirectoryEvent[] } = {}) {
  const log = new LogInMemory();
  const known: number[] = [];
  const waitFor = async (position: number) => void known.push(position);
  const commands = { ...log.commands(), directory: { waitFor } } as unknown as Commands;
  for (const [stream, events] of Object.entries({ [TENANT]: [created], ...streams })) {
    if (events.length === 0) continue;
    await commands.eventStore.append(stream, toAppend(commands, caller, commands.now(), events), 'no-stream');
  }
  const before = log.position;
  const appended = (stream: string) =>
    log
      .stream(stream)
      .filter(({ position }) => position > before)
      .map(({ type, data }) => ({ type, data }));
  const refused = async (work: Promise<unknown>, error: object) => {
    await expect(work).rejects.toMatchObject(error);
    expect(log.position).toBe(before);
  };
  return { commands, appended, refused, known, log };
}
export const NOT_FOUND = { name: NotFoundError.name };
export const CONFLICT = { name: ConflictError.name };
export const invalid = (...fields: string[]) => ({
  name: ValidationError.name,
  errors: Object.fromEntries(fields.map((field) => [field, expect.any(Array)])),
});
