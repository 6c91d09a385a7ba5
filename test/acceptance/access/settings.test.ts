/** What a tenant's people see and set on the platform: API clients, users, the tenant, and how many it may have. */
import { z } from 'zod';
import { MAX_CLIENTS, MAX_TABLES, MAX_USERS } from '#app/domain/limits.js';
import { clientsStream, tenantStream, usersStream } from '#app/domain/streams.js';
import { textField } from '../../fixtures/textField.js';
import { appendByHand, logOf } from '../logEvent.js';
import { addPerson, askSession, dataOf, PASSWORD, type Person } from '../people.js';
import { expectRefused, fieldErrors } from '../refusals.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', full: 'dyn_stock_order' } });
let admin: Person;
let validator: Person;
beforeAll(async () => {
  admin = await addPerson(acme(), 'anna', ['admin']);
  validator = await addPerson(acme(), 'vera', ['validator']);
});

describe('users', () => {
  const user = { email: 'New@Example.com', first_name: 'Noor', last_name: 'Smit', roles: ['validator'] };

  it('are added, changed and removed; passwords are never shown', async () => {
    const made = await admin.call('POST', '/users', { ...user, password: PASSWORD });
    expect(made.status).toBe(201);
    const { id } = dataOf(z.looseObject({ id: z.int() }), made);
    const own = { must_change_password: false, first_password_ends_at: null };
    expect(made.body).toEqual({ data: { id, ...user, email: 'new@example.com', locale: 'en', ...own } });
    expect((await askSession(acme(), 'new@example.com', PASSWORD)).status).toBe(200);
    const twice = await admin.call('POST', '/users', { ...user, password: PASSWORD });
    expect(fieldErrors(twice).has('email')).toBe(true);

    const changed = await admin.call('PUT', `/users/${id}`, { locale: 'nl_NL', roles: ['auditor'] });
    expect(changed.body).toMatchObject({ data: { id, locale: 'nl_NL', roles: ['auditor'] } });
    expect((await admin.call('GET', '/users')).text).not.toMatch(/"password"|scrypt/i);

    expect((await admin.call('DELETE', `/users/${id}`)).status).toBe(204);
    await expectRefused(service(), 404, () => admin.call('PUT', `/users/${id}`, { locale: 'nl' }));
    await expectRefused(service(), 401, () => askSession(acme(), 'new@example.com', PASSWORD));
  });

  it('the last admin stays', async () => {
    expect((await admin.call('DELETE', '/users/1')).status).toBe(204);
    await expectRefused(service(), 409, () => admin.call('DELETE', `/users/${admin.id}`));
    await expectRefused(service(), 409, () => admin.call('PUT', `/users/${admin.id}`, { roles: ['auditor'] }));
  });
});

it('GET /tables tells how many records a table has, and when it was written last', async () => {
  const began = new Date().toISOString().slice(0, 19);
  await acme().batch('dyn_unit_code', [
    { code: 'A', value: 'A' },
    { code: 'B', value: 'B' },
  ]);
  const summary = z.object({ name: z.string(), records: z.number(), last_written_at: z.string().nullable() });
  const summaries = async () => dataOf(z.array(summary), await validator.call('GET', '/tables'));
  const of = async (table: string) => (await summaries()).find(({ name }) => name === table);
  const written = await of('dyn_unit_code');
  expect(written?.records).toBe(2);
  expect((written?.last_written_at ?? '') >= began).toBe(true);
  expect(await of('dyn_party_items')).toEqual({ name: 'dyn_party_items', records: 0, last_written_at: null });
  // Nothing changes but the batch that the records were seen in: the synchronisation is alive.
  await acme().batch('dyn_unit_code', [{ code: 'A', value: 'A', _batch_id: 'tonight' }]);
  const again = await of('dyn_unit_code');
  expect(again?.records).toBe(2);
  expect((again?.last_written_at ?? '') > (written?.last_written_at ?? '')).toBe(true);
});

describe('a tenant has a largest number of', () => {
  const full = () => tenant('full');
  /** @param event of the nth, of those that are written by hand */
  async function filled(path: string, most: number, stream: string, type: string, event: (n: number) => object) {
    const there = dataOf(z.array(z.unknown()), await full().platform('GET', path)).length;
    const events = Array.from({ length: most - there - 1 }, (_, n) => event(n + 1_000));
    await appendByHand(logOf(service()), stream, type, ...events);
    return async (body: (name: string) => object, status: number) => {
      expect((await full().platform('POST', path, { body: body('last') })).status).toBe(201);
      await expectRefused(service(), status, () => full().platform('POST', path, { body: body('beyond') }));
    };
  }

  it(`users: ${MAX_USERS}`, async () => {
    const user = { firstName: 'N', lastName: 'S', locale: 'nl', roles: ['validator'], passwordHash: 'h' };
    const event = (id: number) => ({ ...user, id, email: `${id}@example.com` });
    const add = await filled('/users', MAX_USERS, usersStream(full().name), 'UserAdded', event);
    const sent = { first_name: 'N', last_name: 'S', roles: ['validator'], password: PASSWORD };
    await add((name) => ({ ...sent, email: `${name}@example.com` }), 409);
  });

  it(`API clients: ${MAX_CLIENTS}`, async () => {
    const client = { name: 'ERP', scopes: ['read:order_data'], secretHash: 'h' };
    const event = (n: number) => ({ ...client, clientId: String(n) });
    const stream = clientsStream(full().name);
    const add = await filled('/api-clients', MAX_CLIENTS, stream, 'ApiClientCreated', event);
    await add((name) => ({ name }), 409);
  });

  it(`tables: ${MAX_TABLES}`, async () => {
    const fields = [textField('code', { required: true, custom: true })];
    const of = { description: '', supportingData: true, uniqueField: 'code', fields, relationships: [] };
    const event = (n: number) => ({
      assetType: { ...of, name: `dyn_t${n}`, label: 'Own', role: 'reference', custom: true },
    });
    const add = await filled('/asset-types', MAX_TABLES, tenantStream(full().name), 'AssetTableAdded', event);
    const code = { name: 'code', type: 'String', required: true };
    await add((name) => ({ name: `dyn_${name}`, unique_field: 'code', fields: [code] }), 422);
  });
});
