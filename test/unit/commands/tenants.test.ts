/** What a tenant is called, how many it may have of each thing, and a password that two change at once. */
import { type Commands, ConflictError, ValidationError } from '#app/commands/context.js';
import { addAssetField, addAssetTable } from '#app/commands/identity/assetTypes.js';
import { createClient } from '#app/commands/identity/clients.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { addUser } from '#app/commands/identity/users.js';
import { toAppend } from '#app/commands/writeStream.js';
import type { DirectoryEvent, User } from '#app/domain/identity/events.js';
import { standardTables } from '#app/domain/identity/tenantTables.js';
import { MAX_CLIENTS, MAX_FIELDS, MAX_TABLES, MAX_USERS } from '#app/domain/limits.js';
import { clientsStream, tenantStream, usersStream } from '#app/domain/streams.js';
import { metadata } from '../../contract/eventStoreFixtures.js';
import { textField } from '../../fixtures/textField.js';
import { LogInMemory } from './logInMemory.js';

const { tenant, actor, correlationId, causationId } = metadata;
const caller = { tenant, actor, correlationId, causationId };
const TENANT = tenantStream(tenant);

/** A log of a tenant, with these events behind its creation. */
async function given(stream: string, events: readonly DirectoryEvent[]): Promise<Commands> {
  const directory = { waitFor: async () => undefined };
  const commands = { ...new LogInMemory().commands(), directory } as unknown as Commands;
  await createTenant(commands, caller, { orderModel: 'dyn_stock_order' });
  const appended = toAppend(commands, caller, commands.now(), events);
  await commands.eventStore.append(stream, appended, stream === TENANT ? 0 : 'no-stream');
  return commands;
}

const user = (id: number): User => ({
  id,
  email: `${id}@acme.example`,
  firstName: 'Eva',
  lastName: 'Smit',
  locale: 'nl',
  roles: ['admin'],
  passwordHash: 'scrypt$a$b',
});
const userAdded = (id: number): DirectoryEvent => ({ type: 'UserAdded', data: user(id) });
const clientCreated = (id: number): DirectoryEvent => ({
  type: 'ApiClientCreated',
  data: { clientId: String(id), name: 'ERP', scopes: ['read:order_data'], secretHash: 'h' },
});
const tableAdded = (name: string, fields: number): DirectoryEvent => ({
  type: 'AssetTableAdded',
  data: {
    assetType: {
      name,
      label: name,
      description: '',
      supportingData: true,
      uniqueField: 'f0',
      fields: Array.from({ length: fields }, (_, index) => textField(`f${index}`, { custom: true })),
      relationships: [],
      role: 'reference',
      custom: true,
    },
  },
});

const made = (count: number, event: (n: number) => DirectoryEvent) =>
  Array.from({ length: count }, (_, n) => event(n + 1));
const TABLES_LEFT = MAX_TABLES - standardTables('dyn_stock_order').size;
const password = 'correct horse battery';

test.each<[string, string, readonly DirectoryEvent[], (commands: Commands, name: string) => Promise<unknown>]>([
  [
    'users',
    usersStream(tenant),
    made(MAX_USERS - 1, userAdded),
    (commands, name) => {
      const email = `${name}@acme.example`;
      return addUser(commands, caller, { email, first_name: 'N', last_name: 'S', roles: ['validator'], password });
    },
  ],
  [
    'API clients',
    clientsStream(tenant),
    made(MAX_CLIENTS - 1, clientCreated),
    (commands, name) => createClient(commands, caller, { name }),
  ],
  [
    'tables',
    TENANT,
    made(TABLES_LEFT - 1, (n) => tableAdded(`dyn_t${n}`, 1)),
    (commands, name) => {
      const fields = [{ name: 'code', type: 'String', required: true }];
      return addAssetTable(commands, caller, { name: `dyn_${name}`, unique_field: 'code', fields });
    },
  ],
  [
    'fields of a table',
    TENANT,
    [tableAdded('dyn_wide', MAX_FIELDS - 1)],
    (commands, name) => addAssetField(commands, caller, 'dyn_wide', { name, type: 'String' }),
  ],
])('there is a largest number of %s', async (_what, stream, events, add) => {
  const commands = await given(stream, events);
  await add(commands, 'last');
  const error = await add(commands, 'beyond').catch((reason: unknown) => reason);
  expect(error instanceof ConflictError || error instanceof ValidationError).toBe(true);
});

test.each(['', 'Acme', '-a', 'a-', 'a--b', 'a.b', 'a_b', 'a'.repeat(41)])('%j is no name of a tenant', async (name) => {
  const commands = new LogInMemory().commands() as unknown as Commands;
  const work = createTenant(commands, { ...caller, tenant: name }, { orderModel: 'dyn_stock_order' });
  await expect(work).rejects.toMatchObject({ errors: { name: [expect.any(String)] } });
});
