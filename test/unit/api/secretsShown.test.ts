/** A secret is shown once, when it is made: also by a process whose directory does not know yet whose it is. */
import type { Api } from '#app/api/deps.js';
import { apiClients } from '#app/api/platform/apiClients.js';
import { users } from '#app/api/platform/users.js';
import { webhooks } from '#app/api/platform/webhooks.js';
import type { Call, Resource } from '#app/api/routes/operation.js';
import { createTenant } from '#app/commands/identity/tenants.js';
import { caller } from '../../contract/eventStoreFixtures.js';
import { LogInMemory } from '../commands/logInMemory.js';

/** It has read nothing, and says that it has. */
const directory = { known: () => undefined, waitFor: async () => undefined };
const commands = { ...new LogInMemory().commands(), directory, secretBox: { seal: (plain: string) => plain } };
const checkWebhookTarget = async () => undefined;
const api = { commands, checkWebhookTarget } as unknown as Api;

/** @returns the data of the answer */
async function ask({ operations }: Resource, operation: `POST /${string}`, body: unknown, id?: unknown) {
  const handle = operations[operation]?.handle as (api: Api, call: Call) => Promise<{ readonly body: string }>;
  const { body: text } = await handle(api, { caller, body, path: { id: String(id) } } as unknown as Call);
  return JSON.parse(text).data;
}

beforeAll(() => createTenant(api.commands, caller, { orderModel: 'dyn_stock_order' }));

test('of an API client: the first one, the next one, and one beside it', async () => {
  const made = await ask(apiClients, 'POST /api-clients', { name: 'ERP' });
  expect(made).toMatchObject({ name: 'ERP', client_secret: expect.any(String) });
  const { client_id: id } = made;
  for (const operation of ['POST /api-clients/:id/secret', 'POST /api-clients/:id/secret/rotate'] as const)
    expect(await ask(apiClients, operation, undefined, id)).toMatchObject({
      client_id: id,
      client_secret: expect.any(String),
    });
});

test('of a webhook: the first one and the next one', async () => {
  const { id, secret } = await ask(webhooks, 'POST /webhooks', { url: 'https://erp.example.com/orders' });
  expect(secret).toEqual(expect.any(String));
  const rotated = await ask(webhooks, 'POST /webhooks/:id/secret/rotate', undefined, id);
  expect(rotated).toMatchObject({ id, secret: expect.any(String) });
});

test('of a user: the password for the first sign-in, and the one after it was forgotten', async () => {
  const user = { email: 'eva@acme.example', first_name: 'Eva', last_name: 'Smit', roles: ['admin'] };
  const { id, password } = await ask(users, 'POST /users', user);
  expect(password).toEqual(expect.any(String));
  expect(await ask(users, 'POST /users/:id/password', undefined, id)).toMatchObject({
    id,
    password: expect.any(String),
  });
});
