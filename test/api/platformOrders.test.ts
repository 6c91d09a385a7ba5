import { dyn, startTestApi, type TestApi } from './harness.js';
import { addPerson, type Person } from './people.js';

let api: TestApi;
let token: string;
let validator: Person;
let auditor: Person;

beforeAll(async () => {
  api = await startTestApi();
  await api.addTenant('acme');
  token = await api.token('acme', await api.addClient('acme'));
  validator = await addPerson(api, 'acme', 'vera', ['validator']);
  auditor = await addPerson(api, 'acme', 'aldo', ['auditor']);
  const party = { external_id: 'C-1', name: 'Bakkerij De Molen' };
  await api.call('POST', dyn('/dyn_party/assets'), { token, body: party });
});

afterAll(() => api.stop());

async function created(table: string, body: object): Promise<string> {
  const answer = await api.call('POST', dyn(`/${table}/assets`), { token, body });
  expect(answer.status).toBe(201);
  return String(answer.json.data.id);
}

/** An order with a line: everything that an export needs. */
async function completeOrder(more: object = {}): Promise<string> {
  const head = { buyer_customer_party_id: 'C-1', delivery_date: '2026-12-01', customer_reference: 'PO 1', ...more };
  const id = await created('dyn_stock_order', head);
  const unit = await created('dyn_unit_code', { code: id.slice(-12), value: 'Piece' });
  const item = await created('dyn_item', { external_id: `I-${id}`, name: 'Tea', base_unit_code_id: unit });
  await created('dyn_order_line', { order_id: id, quantity: 3, item_id: item, unit_code_id: unit });
  return id;
}

async function validatedOrder(): Promise<string> {
  const id = await completeOrder();
  const saved = await validator.call('PUT', `/orders/${id}`, { processing_status: 'validated' });
  expect(saved.json).toMatchObject({ data: { id, processing_status: 'validated' } });
  return id;
}

const idsOf = (answer: { readonly json: { readonly data: readonly { readonly id: string }[] } }): readonly string[] =>
  answer.json.data.map(({ id }) => id);

describe('the queues', () => {
  test('§3: an order is to validate until it is approved or rejected, then it is in the archive', async () => {
    const id = await validatedOrder();
    expect(idsOf(await validator.call('GET', '/orders?sort=-created_at'))).toContain(id);
    expect(idsOf(await validator.call('GET', '/orders?queue=archive'))).not.toContain(id);
    expect((await validator.call('POST', `/orders/${id}/reject`, { reasons: ['Ordered twice.'] })).status).toBe(200);
    expect(idsOf(await validator.call('GET', '/orders?queue=to_validate'))).not.toContain(id);
    expect(idsOf(await validator.call('GET', '/orders?queue=archive'))).toContain(id);
  });

  test('§2.2, §4.3: they are lists like any other: filter, sort, pages, links that lead on', async () => {
    for (let n = 0; n < 27; n++) await created('dyn_stock_order', { customer_reference: `Page ${100 + n}` });
    const first = await auditor.call('GET', '/orders?filter[customer_reference]=page%201&sort=-customer_reference');
    expect(first.status).toBe(200);
    expect(first.json.data[0]).toMatchObject({
      customer_reference: 'Page 126',
      processing_status: 'pending_validation',
    });
    expect(first.json.meta).toMatchObject({ current_page: 1, from: 1, to: 25, per_page: 25, last_page: 2, total: 27 });
    const next = new URL(first.json.links.next);
    expect(next.searchParams.get('queue')).toBe('to_validate');
    const second = await api.call('GET', next.pathname + next.search, { token: auditor.token });
    expect(second.json.data.map((order: { customer_reference: string }) => order.customer_reference)).toEqual([
      'Page 101',
      'Page 100',
    ]);
    expect(second.json.links).toMatchObject({ prev: first.json.links.first, next: null });
  });

  test.each(['queue=all', 'sort=notes', 'filter[notes]=x', 'page=0', 'filter[customer_reference]='])(
    '%s is 400',
    async (query) => {
      const answer = await validator.call('GET', `/orders?${query}`);
      expect(answer.status).toBe(400);
      expect(answer.json).toEqual({ message: expect.any(String), error: expect.any(String) });
    },
  );
});

describe('one order', () => {
  test('is shown with its lines, the records they name, and its status', async () => {
    const id = await completeOrder();
    const { status, json } = await auditor.call('GET', `/orders/${id.toUpperCase()}`);
    expect(status).toBe(200);
    expect(json.data).toMatchObject({
      id,
      processing_status: 'pending_validation',
      approved_at: null,
      approver: null,
      buyer_customer_party: { external_id: 'C-1', name: 'Bakkerij De Molen' },
      accounting_customer_party: null,
      lines: [{ order_id: id, quantity: 3, item: { name: 'Tea' }, unit_code: { value: 'Piece' } }],
    });
  });

  test.each(['019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10', 'nonsense'])('%s is 404', async (id) => {
    for (const path of [`/orders/${id}`, `/orders/${id}/history`]) {
      expect((await validator.call('GET', path)).status).toBe(404);
    }
    for (const action of ['approve', 'reject']) {
      expect((await validator.call('POST', `/orders/${id}/${action}`)).status).toBe(404);
    }
  });

  test('its history tells who did what, with reasons', async () => {
    const id = await validatedOrder();
    await validator.call('POST', `/orders/${id}/reject`, { reasons: ['Ordered twice.', 'Wrong price.'] });
    const { json } = await auditor.call('GET', `/orders/${id}/history`);
    expect(json.data.at(-1)).toMatchObject({
      event: 'OrderRejected',
      actor: { kind: 'user', id: String(validator.id), name: 'vera Bos' },
      status_from: 'validated',
      status_to: 'rejected',
      reasons: ['Ordered twice.', 'Wrong price.'],
    });
    expect(json.data[0]).toMatchObject({ event: 'OrderCreated', actor: { kind: 'client' }, status_from: null });
    expect(json.meta.total).toBe(json.data.length);
  });
});

describe('saving', () => {
  test('§3: changed data makes the order `saved`; a validated one needs everything an export needs', async () => {
    const id = await created('dyn_stock_order', { customer_reference: 'PO 2' });
    const saved = await validator.call('PUT', `/orders/${id}`, { notes: 'Call first.' });
    expect(saved.json.data).toMatchObject({ notes: 'Call first.', processing_status: 'saved' });
    const refused = await validator.call('PUT', `/orders/${id}`, { processing_status: 'validated' });
    expect(refused.status).toBe(422);
    expect(Object.keys(refused.json.errors).sort()).toEqual([
      'buyer_customer_party_id',
      'delivery_date',
      'dyn_order_line',
    ]);
  });

  test.each([
    [{ processing_status: 'completed' }, 'processing_status'],
    [{ colour: 'red' }, 'colour'],
    [{ delivery_date: 'tomorrow' }, 'delivery_date'],
  ])('%j is 422', async (body, field) => {
    const id = await created('dyn_stock_order', {});
    const answer = await validator.call('PUT', `/orders/${id}`, body);
    expect(answer.status).toBe(422);
    expect(Object.keys(answer.json.errors)).toEqual([field]);
  });
});

describe('approving and rejecting', () => {
  test('§3: an approval makes a validated order `submitted`, by this user, and a read shows it at once', async () => {
    const id = await validatedOrder();
    const approved = await validator.call('POST', `/orders/${id}/approve`);
    expect(approved.status).toBe(200);
    expect(approved.json.data).toMatchObject({ id, processing_status: 'submitted', approved_by: validator.id });
    const read = await api.call('GET', dyn(`/dyn_stock_order/assets/${id}`), { token });
    expect(read.json.data).toEqual(approved.json.data);
    expect((await validator.call('GET', `/orders/${id}`)).json.data.approver).toEqual({
      id: validator.id,
      first_name: 'vera',
      last_name: 'Bos',
      locale: 'en',
      email: validator.email,
    });
  });

  test('of many approvals at once one wins, the others are 409', async () => {
    const id = await validatedOrder();
    const answers = await Promise.all(Array.from({ length: 8 }, () => validator.call('POST', `/orders/${id}/approve`)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
    expect(answers.find(({ status }) => status === 409)?.json).toEqual({
      message: 'Conflict.',
      error: expect.stringContaining('submitted'),
    });
  });

  test('wrong states are 409', async () => {
    const fresh = await created('dyn_stock_order', {});
    expect((await validator.call('POST', `/orders/${fresh}/approve`)).status).toBe(409);
    const submitted = await validatedOrder();
    await validator.call('POST', `/orders/${submitted}/approve`);
    expect((await validator.call('POST', `/orders/${submitted}/reject`)).status).toBe(409);
    expect((await validator.call('PUT', `/orders/${submitted}`, { notes: 'late' })).status).toBe(409);
  });

  test('a rejection needs no body; reasons must be texts', async () => {
    const id = await created('dyn_stock_order', {});
    const wrong = await validator.call('POST', `/orders/${id}/reject`, { reasons: [1], because: 'x' });
    expect(wrong.status).toBe(422);
    expect(Object.keys(wrong.json.errors).sort()).toEqual(['because', 'reasons.0']);
    const rejected = await validator.call('POST', `/orders/${id}/reject`);
    expect(rejected.json.data).toMatchObject({ processing_status: 'rejected', error_reason: null });
  });

  test('an auditor reads, and changes nothing', async () => {
    const id = await validatedOrder();
    for (const [method, path] of [
      ['PUT', ''],
      ['POST', '/approve'],
      ['POST', '/reject'],
    ] as const) {
      const answer = await auditor.call(method, `/orders/${id}${path}`, {});
      expect(answer.status).toBe(403);
      expect(answer.json).toEqual({ message: 'Forbidden.', error: expect.stringContaining('validator') });
    }
    expect((await auditor.call('GET', `/orders/${id}`)).json.data.processing_status).toBe('validated');
  });
});
