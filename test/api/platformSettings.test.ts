import { dyn, startTestApi, type TestApi } from './harness.js';
import { addPerson, PASSWORD, type Person, signIn } from './people.js';

let api: TestApi;
let admin: Person;
let validator: Person;
let auditor: Person;

beforeAll(async () => {
  api = await startTestApi({ WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8' });
  await api.addTenant('acme');
  admin = await addPerson(api, 'acme', 'anna', ['admin']);
  validator = await addPerson(api, 'acme', 'vera', ['validator']);
  auditor = await addPerson(api, 'acme', 'aldo', ['auditor']);
});

afterAll(() => api.stop());

const tokenFor = (client: { client_id: string; client_secret: string }) =>
  api.call('POST', '/oauth/token', {
    body: { grant_type: 'client_credentials', client_id: client.client_id, client_secret: client.client_secret },
  });

describe('roles', () => {
  const reads = {
    '/api-clients': ['admin', 'auditor'],
    '/webhooks': ['admin', 'auditor'],
    '/users': ['admin'],
    '/asset-types': ['admin', 'validator', 'auditor'],
    '/tenant': ['admin', 'validator', 'auditor'],
    '/orders': ['admin', 'validator', 'auditor'],
  };

  test.each(Object.entries(reads))('GET %s is for %j', async (path, roles) => {
    for (const [role, person] of Object.entries({ admin, validator, auditor })) {
      expect({ role, status: (await person.call('GET', path)).status }).toEqual({
        role,
        status: roles.includes(role) ? 200 : 403,
      });
    }
  });

  test.each([
    ['POST', '/api-clients'],
    ['DELETE', '/api-clients/x'],
    ['POST', '/api-clients/x/secret'],
    ['POST', '/webhooks'],
    ['DELETE', '/webhooks/x'],
    ['POST', '/webhooks/x/secret'],
    ['POST', '/users'],
    ['PUT', '/users/1'],
    ['DELETE', '/users/1'],
    ['POST', '/asset-types'],
    ['POST', '/asset-types/dyn_item/fields'],
    ['PUT', '/tenant/rate-limit'],
  ])('%s %s is for admins', async (method, path) => {
    for (const person of [validator, auditor]) expect((await person.call(method, path, {})).status).toBe(403);
  });

  test('unknown paths are 404, known ones with another method 405 with Allow', async () => {
    expect((await admin.call('GET', '/nothing')).status).toBe(404);
    const answer = await admin.call('PATCH', '/users/1', {});
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe('GET, HEAD, PUT, DELETE');
  });
});

describe('API clients (§5.1)', () => {
  test('are made with a secret that is shown once, renewed and removed', async () => {
    const made = await admin.call('POST', '/api-clients', { name: 'ERP', scopes: ['read:order_data'] });
    expect(made.status).toBe(201);
    expect(made.json.data).toMatchObject({ name: 'ERP', scopes: ['read:order_data'] });
    const { client_id: id, client_secret: secret } = made.json.data;
    expect((await tokenFor(made.json.data)).json.scope).toBe('read:order_data');

    const list = await auditor.call('GET', '/api-clients');
    expect(list.json.data).toContainEqual({
      client_id: id,
      name: 'ERP',
      scopes: ['read:order_data'],
      created_at: expect.any(String),
    });
    expect(list.text).not.toMatch(/secret|hash/i);

    const renewed = await admin.call('POST', `/api-clients/${id}/secret`);
    expect(renewed.json.data.client_secret).not.toBe(secret);
    expect((await tokenFor(made.json.data)).status).toBe(401);
    const granted = await tokenFor(renewed.json.data);
    expect(granted.status).toBe(200);

    expect((await admin.call('DELETE', `/api-clients/${id}`)).status).toBe(204);
    const token = String(granted.json.access_token);
    expect((await api.call('GET', dyn('/dyn_stock_order/assets'), { token })).status).toBe(401);
    expect((await admin.call('DELETE', `/api-clients/${id}`)).status).toBe(404);
    expect((await admin.call('POST', `/api-clients/${id}/secret`)).status).toBe(404);
  });

  test('bad bodies are 422 by field', async () => {
    const answer = await admin.call('POST', '/api-clients', { scopes: ['read:everything'], secret: 'x' });
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors).sort()).toEqual(['name', 'scopes.0', 'secret']);
  });
});

describe('webhooks (§6)', () => {
  test('are made with a secret that is shown once, renewed and removed', async () => {
    const body = { url: 'https://127.0.0.1:9/orders', name: 'ERP', custom_data: { company: 7 } };
    const made = await admin.call('POST', '/webhooks', body);
    expect(made.status).toBe(201);
    expect(made.json.data).toMatchObject({ ...body, events: ['order.approved'], secret: expect.any(String) });
    const { id, secret, ...shown } = made.json.data;
    const list = await auditor.call('GET', '/webhooks');
    expect(list.json).toEqual({ data: [{ id, ...shown }] });
    expect(list.text).not.toMatch(/secret/i);
    const renewed = await admin.call('POST', `/webhooks/${id}/secret`);
    expect(renewed.status).toBe(200);
    expect(renewed.json.data.secret).not.toBe(secret);
    expect((await admin.call('DELETE', `/webhooks/${id}`)).status).toBe(204);
    expect((await auditor.call('GET', '/webhooks')).json).toEqual({ data: [] });
    expect((await admin.call('DELETE', `/webhooks/${id}`)).status).toBe(404);
  });

  test.each(['http://erp.example.com/orders', 'https://10.0.0.1/orders', 'https://[::1]/', 'nonsense'])(
    'the target %s is 422',
    async (url) => {
      const answer = await admin.call('POST', '/webhooks', { url });
      expect(answer.status).toBe(422);
      expect(Object.keys(answer.json.errors)).toEqual(['url']);
    },
  );
});

describe('users', () => {
  test('are added, changed and removed; passwords are never shown', async () => {
    const user = { email: 'New@Example.com', first_name: 'Noor', last_name: 'Smit', roles: ['validator'] };
    const made = await admin.call('POST', '/users', { ...user, password: PASSWORD });
    expect(made.status).toBe(201);
    const { id } = made.json.data;
    expect(made.json.data).toEqual({ id, ...user, email: 'new@example.com', locale: 'en' });
    expect((await signIn(api, 'new@example.com', PASSWORD)).status).toBe(200);
    expect((await admin.call('POST', '/users', { ...user, password: PASSWORD })).json.errors).toHaveProperty('email');

    const changed = await admin.call('PUT', `/users/${id}`, { locale: 'nl_NL', roles: ['auditor'] });
    expect(changed.json.data).toMatchObject({ id, locale: 'nl_NL', roles: ['auditor'] });
    expect((await admin.call('GET', `/users/${id}`)).json).toEqual(changed.json);
    expect((await admin.call('GET', '/users')).text).not.toMatch(/password|scrypt/i);

    expect((await admin.call('DELETE', `/users/${id}`)).status).toBe(204);
    expect((await admin.call('GET', `/users/${id}`)).status).toBe(404);
    expect((await signIn(api, 'new@example.com', PASSWORD)).status).toBe(401);
  });

  test('the last admin stays', async () => {
    expect((await admin.call('DELETE', `/users/${admin.id}`)).status).toBe(409);
    expect((await admin.call('PUT', `/users/${admin.id}`, { roles: ['auditor'] })).status).toBe(409);
  });

  test.each(['0', 'x', '1.5', '99999999999999999999'])('the id %s is 404', async (id) => {
    expect((await admin.call('PUT', `/users/${id}`, {})).status).toBe(404);
  });
});

describe('asset types (§1)', () => {
  test('a new table can be used at once; a new field as well', async () => {
    const token = await api.token('acme', await api.addClient('acme'));
    const key = { name: 'external_id', type: 'String', required: true, filterable: true, sortable: true };
    const made = await admin.call('POST', '/asset-types', { name: 'dyn_carrier', fields: [key] });
    expect(made.status).toBe(201);
    expect(made.headers['projection-pending']).toBeUndefined();
    expect(made.json.data).toMatchObject({ name: 'dyn_carrier', supporting_data: true, unique_field: 'external_id' });
    const item = { external_id: 'DHL' };
    expect((await api.call('POST', dyn('/dyn_carrier/assets'), { token, body: item })).status).toBe(201);

    const field = { name: 'fleet', type: 'Integer', sortable: true };
    const grown = await admin.call('POST', '/asset-types/dyn_carrier/fields', field);
    expect(grown.status).toBe(201);
    expect(grown.json.data.fields.at(-1)).toMatchObject({ name: 'fleet', type: 'Integer', custom: true });
    const list = await api.call('GET', dyn('/dyn_carrier/assets?sort=-fleet'), { token });
    expect(list.json.data).toEqual([expect.objectContaining({ external_id: 'DHL', fleet: null })]);
    const names = (await auditor.call('GET', '/asset-types')).json.data.map(({ name }: { name: string }) => name);
    expect(names).toEqual(expect.arrayContaining(['dyn_stock_order', 'dyn_carrier']));
  });

  test('Master Data is not customizable, unknown tables are 404, names in use 422', async () => {
    const field = { name: 'colour', type: 'String' };
    const onOrders = await admin.call('POST', '/asset-types/dyn_stock_order/fields', field);
    expect(onOrders.json.errors).toHaveProperty('table');
    expect((await admin.call('POST', '/asset-types/dyn_nothing/fields', field)).status).toBe(404);
    const twice = await admin.call('POST', '/asset-types/dyn_item/fields', { ...field, name: 'name' });
    expect(twice.json.errors).toHaveProperty('name');
  });
});

describe('the tenant', () => {
  test('is shown, and its rate limit can be set', async () => {
    expect((await validator.call('GET', '/tenant')).json).toEqual({
      data: { name: 'acme', display_name: 'acme', order_model: 'dyn_stock_order', rate_limit: null },
    });
    const limit = { per_second: 1000, burst: 2000 };
    const answer = await admin.call('PUT', '/tenant/rate-limit', limit);
    expect(answer.json.data.rate_limit).toEqual(limit);
    const wrong = await admin.call('PUT', '/tenant/rate-limit', { per_second: 0, burst: 1.5 });
    expect(Object.keys(wrong.json.errors).sort()).toEqual(['burst', 'per_second']);
  });
});
