import { dyn, startTestApi, type TestApi } from './harness.js';

let api: TestApi;
let token: string;

beforeAll(async () => {
  api = await startTestApi({ BODY_LIMIT_BYTES: '200000' });
  await api.addTenant('acme');
  token = await api.token('acme', await api.addClient('acme'));
});

afterAll(() => api.stop());

const party = (n: number, more: object = {}) => ({ external_id: `P-${n}`, name: `Party ${n}`, ...more });

describe('records over HTTP', () => {
  test('§4.5, §4.4: what was created is read back, and its Location leads to it', async () => {
    const created = await api.call('POST', dyn('/dyn_party/assets'), { token, body: party(1, { city_name: 'Gent' }) });
    expect(created.status).toBe(201);
    expect(created.json.data).toMatchObject({ external_id: 'P-1', name: 'Party 1', city_name: 'Gent', notes: null });
    const read = await api.call('GET', String(created.headers.location), { token });
    expect(read.status).toBe(200);
    expect(read.json).toEqual(created.json);
    expect(Object.keys(read.json.data).slice(0, 3)).toEqual(['id', 'created_at', 'updated_at']);
    expect(read.headers['content-type']).toBe('application/json; charset=utf-8');
    expect(read.headers['projection-pending']).toBeUndefined();
  });

  test('§4.6: an update names what changes, and keeps the rest', async () => {
    const { json } = await api.call('POST', dyn('/dyn_party/assets'), { token, body: party(2) });
    const path = dyn(`/dyn_party/assets/${json.data.id}`);
    const updated = await api.call('PUT', path, { token, body: { country: 'BE' } });
    expect(updated.status).toBe(200);
    expect(updated.json.data).toMatchObject({ external_id: 'P-2', country: 'BE' });
    expect((await api.call('GET', path, { token })).json).toEqual(updated.json);
  });

  test('§4.7, §4.8: a batch is counted, a clean-up tells how many records it deleted', async () => {
    const items = Array.from({ length: 3 }, (_, n) => ({ code: `C${n}`, value: `Code ${n}`, _batch_id: 'run-1' }));
    const path = dyn('/dyn_unit_code/assets');
    const dry = await api.call('POST', `${path}/batch?dry_run=true`, { token, body: { items } });
    expect(dry.json.data).toMatchObject({ created: 3, dry_run: true });
    expect((await api.call('GET', path, { token })).json.meta.total).toBe(0);

    const batch = await api.call('POST', `${path}/batch`, { token, body: { items } });
    expect(batch.status).toBe(200);
    expect(batch.json.data).toEqual({ message: expect.any(String), created: 3, updated: 0, unchanged: 0 });

    await api.call('POST', `${path}/batch`, { token, body: { items: [{ ...items[0], _batch_id: 'run-2' }] } });
    const cleanUp = await api.call('POST', `${path}/clean-up`, { token, body: { batch_id: 'run-2' } });
    expect(cleanUp.json.data).toEqual({ message: expect.any(String), deleted: 2 });
    const list = await api.call('GET', path, { token });
    expect(list.json.data.map((record: { code: string }) => record.code)).toEqual(['C0']);
    expect(list.text).not.toContain('_batch_id');
  });

  test('§4.7 rule 5, §4.8: Master Data takes neither batch nor clean-up', async () => {
    for (const [operation, body] of [
      ['batch', { items: [{}] }],
      ['clean-up', { batch_id: 'x' }],
    ]) {
      const answer = await api.call('POST', dyn(`/dyn_stock_order/assets/${String(operation)}`), { token, body });
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ message: expect.any(String), error: expect.stringContaining('reference data') });
    }
  });

  test('§2.2: links are absolute, keep filters, sort and page size, and end at the last page', async () => {
    const items = Array.from({ length: 60 }, (_, n) => ({
      external_id: `L${n}`,
      name: `Listed ${n % 2}`,
      sku: `S${n}`,
    }));
    await api.call('POST', dyn('/dyn_item/assets/batch'), { token, body: { items } });
    const query = 'filter[name]=listed&sort=-sku&page=2&perPage=7';
    const { json } = await api.call('GET', `${dyn('/dyn_item/assets')}?${query}`, { token });
    expect(json.meta).toEqual({ current_page: 2, from: 26, to: 50, per_page: 25, last_page: 3, total: 60 });
    const base = `http://acme.localhost:${api.port}${dyn('/dyn_item/assets')}`;
    const link = (page: number) => `${base}?page=${page}&perPage=25&filter%5Bname%5D=listed&sort=-sku`;
    expect(json.links).toEqual({ first: link(1), last: link(3), prev: link(1), next: link(3) });
    const next = await api.call('GET', json.links.next.slice(`http://acme.localhost:${api.port}`.length), { token });
    expect(next.json.meta).toMatchObject({ current_page: 3, from: 51, to: 60 });
    expect(next.json.links.next).toBeNull();
  });

  test('§4.3: a page beyond the last one is empty', async () => {
    const { status, json } = await api.call('GET', `${dyn('/dyn_item/assets')}?page=9000000000000`, { token });
    expect(status).toBe(200);
    expect(json.data).toEqual([]);
    expect(json.meta).toMatchObject({ from: 0, to: 0, last_page: 3 });
    expect(json.links.prev).toContain('page=3&');
  });

  test.each([
    'page=0',
    'page=-1',
    'page=abc',
    'page=1.5',
    'page=',
    'page=1&page=2',
    'filter[notes]=x',
    'filter[name]=',
    'filter[name]=,,',
    'filter=x',
    'filter[]=x',
    'filter[name][a]=x',
    'filter[__proto__]=x',
    'sort=notes',
    'sort=',
    'sort[]=name',
    'sort=name&sort=sku',
    'sort=__proto__',
  ])('§4.3: %s is 400 with a body of §7', async (query) => {
    const { status, json } = await api.call('GET', `${dyn('/dyn_item/assets')}?${query}`, { token });
    expect(status).toBe(400);
    expect(json).toEqual({ message: 'Bad request.', error: expect.any(String) });
  });

  test('§4.9, history: an order tells who moved it from where to where', async () => {
    const { json } = await api.call('POST', dyn('/dyn_stock_order/assets'), {
      token,
      body: { customer_reference: 'R' },
    });
    const path = dyn(`/dyn_stock_order/assets/${json.data.id}`);
    const body = { processing_status: 'submit_failed', error_reason: ['no such article'] };
    expect((await api.call('PUT', path, { token, body })).json.data).toMatchObject(body);
    const history = await api.call('GET', `${path}/history`, { token, headers: { 'X-Request-Id': 'looking' } });
    expect(history.headers['x-request-id']).toBe('looking');
    expect(history.json.meta.total).toBe(2);
    expect(history.json.data.map((entry: { status_to: string }) => entry.status_to).sort()).toEqual([
      'pending_validation',
      'submit_failed',
    ]);
    const unknown = dyn('/dyn_stock_order/assets/0199aaaa-0000-7000-8000-000000000000/history');
    expect((await api.call('GET', unknown, { token })).status).toBe(404);
    expect((await api.call('GET', dyn(`/dyn_party/assets/${json.data.id}/history`), { token })).status).toBe(404);
  });
});

describe('what assets there are', () => {
  test('§4.1: the list shows the assets whose data the token may read', async () => {
    const client = await api.addClient('acme', ['read:order_data']);
    const few = await api.call('GET', dyn(''), { token: await api.token('acme', client) });
    expect(few.json.data.map((asset: { name: string }) => asset.name)).toEqual(['dyn_stock_order', 'dyn_order_line']);
    const all = await api.call('GET', dyn('/'), { token });
    expect(all.json.data).toHaveLength(8);
    expect(all.json.data).toContainEqual(
      expect.objectContaining({ name: 'dyn_item', kind: 'reference', supporting_data: true }),
    );
  });

  test('§4.2: info names the fields with their rules, and gives them as JSON Schema', async () => {
    const { json } = await api.call('GET', dyn('/dyn_party/info'), { token });
    const field = (name: string) => json.data.fields.find((one: { name: string }) => one.name === name);
    expect(field('external_id')).toMatchObject({ type: 'String', required: true, nullable: false, unique: true });
    expect(field('created_at')).toMatchObject({ type: 'DateTime', sortable: true, read_only: true });
    expect(json.data.unique_field).toBe('external_id');
    expect(json.data.json_schema).toMatchObject({ type: 'object', additionalProperties: false });
    expect(json.data.json_schema.required).toEqual(['external_id', 'name']);
    for (const { name } of (await api.call('GET', dyn(''), { token })).json.data) {
      expect((await api.call('GET', dyn(`/${name}/info`), { token })).status).toBe(200);
    }
  });
});

describe('§7: what is refused', () => {
  test.each([
    ['GET', '/dyn_nothing/assets', 404],
    ['GET', '/__proto__/assets', 404],
    ['GET', '/dyn_location/assets', 404],
    ['GET', '/dyn_party/assets/not-an-id', 404],
    ['GET', '/dyn_party/assets/0199aaaa-0000-7000-8000-000000000000', 404],
    ['GET', '/dyn_party/nothing/here', 404],
    ['GET', '/dyn_party/assets/%E0%A4%A', 400],
  ])('%s %s is %i', async (method, path, status) => {
    const answer = await api.call(method, dyn(path), { token });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual({ message: expect.any(String), error: expect.any(String) });
  });

  test.each([
    ['DELETE', '/dyn_party/assets', 'GET, HEAD, POST'],
    ['PATCH', '/dyn_party/assets/0199aaaa-0000-7000-8000-000000000000', 'GET, HEAD, PUT'],
    ['GET', '/dyn_party/assets/batch', 'POST'],
    ['PUT', '/dyn_party/assets/clean-up', 'POST'],
    ['POST', '/dyn_party/info', 'GET, HEAD'],
    ['POST', '', 'GET, HEAD'],
  ])('%s %s is 405 and tells what is allowed', async (method, path, allow) => {
    const answer = await api.call(method, dyn(path), { token });
    expect(answer.status).toBe(405);
    expect(answer.headers.allow).toBe(allow);
  });

  const deep = (levels: number) => `${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`;
  test.each([
    ['no JSON', '{"name":', {}, 400],
    ['nothing', '', {}, 400],
    ['invalid UTF-8', Buffer.from([0x22, 0xff, 0x22]), {}, 400],
    ['33 levels', deep(33), {}, 400],
    ['100,000 levels', '['.repeat(100_000), {}, 400],
    ['too many bytes', JSON.stringify({ name: 'x'.repeat(200_000) }), {}, 413],
    ['a form', 'name=x', { 'Content-Type': 'application/x-www-form-urlencoded' }, 415],
    ['another charset', '{}', { 'Content-Type': 'application/json; charset=latin1' }, 415],
    ['an unknown encoding', '{}', { 'Content-Encoding': 'zstd' }, 415],
    ['an array', '[]', {}, 422],
    ['null', 'null', {}, 422],
    ['__proto__', '{"__proto__":{"name":"x"},"external_id":"1","name":"n"}', {}, 422],
  ])('a body of %s', async (_what, body, headers, status) => {
    const answer = await api.call('POST', dyn('/dyn_party/assets'), { token, body, headers });
    expect(answer.status).toBe(status);
    expect(answer.json).toEqual(
      status === 422
        ? { message: expect.any(String), errors: expect.any(Object) }
        : { message: expect.any(String), error: expect.any(String) },
    );
  });

  test('unknown paths outside the API are JSON as well', async () => {
    const answer = await api.call('GET', '/nothing');
    expect(answer.status).toBe(404);
    expect(answer.json).toEqual({ message: 'Not found.', error: expect.any(String) });
    expect(answer.headers['x-powered-by']).toBeUndefined();
    expect(answer.headers['x-content-type-options']).toBe('nosniff');
  });
});

test('health, metrics and public keys need no tenant and no token', async () => {
  for (const path of ['/health/live', '/health/ready', '/metrics', '/.well-known/jwks.json']) {
    const answer = await api.call('GET', path, { host: 'nobody.example.com' });
    expect([path, answer.status]).toEqual([path, 200]);
  }
  const { text } = await api.call('GET', '/metrics');
  expect(text).toContain('route="/api/v1/dynamic-assets/dyn/:table/assets/:id",status="200"');
  expect(text).toMatch(/projection_lag_events\{projection="records"\} \d/);
  const { json } = await api.call('GET', '/.well-known/jwks.json');
  expect(json.keys).toEqual([expect.objectContaining({ kty: 'EC', alg: 'ES256', kid: expect.any(String) })]);
  expect(JSON.stringify(json)).not.toContain('"d"');
});
