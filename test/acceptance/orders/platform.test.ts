/** Orders as the people of the platform see them: the list, one order, saving, approving and rejecting (spec §3). */
import { z } from 'zod';
import { addPerson, dataOf, type Person } from '../people.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import type { Query } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order' } });
let validator: Person;
let auditor: Person;
beforeAll(async () => {
  validator = await addPerson(acme(), 'vera', ['validator']);
  auditor = await addPerson(acme(), 'aldo', ['auditor']);
  await acme().create('dyn_party', { external_id: 'C-1', name: 'Bakkerij De Molen' });
});

/** An order with a line: everything that an export needs. */
async function completeOrder(): Promise<string> {
  const head = { buyer_customer_party_id: 'C-1', delivery_date: '2026-12-01', customer_reference: 'PO 1' };
  const { id } = await acme().create('dyn_stock_order', head);
  const unit = await acme().create('dyn_unit_code', { code: id.slice(-12), value: 'Piece' });
  const item = await acme().create('dyn_item', { external_id: `I-${id}`, name: 'Tea', base_unit_code_id: unit.id });
  await acme().create('dyn_order_line', { order_id: id, quantity: 3, item_id: item.id, unit_code_id: unit.id });
  return id;
}
async function validatedOrder(): Promise<string> {
  const id = await completeOrder();
  const saved = await validator.call('PUT', `/orders/${id}`, { processing_status: 'validated' });
  expect(saved.body).toMatchObject({ data: { id, processing_status: 'validated' } });
  return id;
}
const newOrder = async (): Promise<string> => (await acme().create('dyn_stock_order', {})).id;

const listed = z.object({
  data: z.array(z.looseObject({ id: z.string(), customer_reference: z.string().nullable() })),
});
const orders = async (query: Query) => {
  const answer = await acme().platform('GET', '/orders', { query, token: auditor.token });
  expect(answer.status).toBe(200);
  return { ...listed.parse(answer.body), answer };
};

describe('the list', () => {
  it('§3: an order that the integration refused is to validate again, with its reasons', async () => {
    const id = await validatedOrder();
    expect((await validator.call('POST', `/orders/${id}/approve`, {})).status).toBe(200);
    const refusal = { processing_status: 'submit_failed', error_reason: ['Unknown article'] };
    await acme().update('dyn_stock_order', id, refusal);
    const { data, answer } = await orders({ 'filter[processing_status]': 'submit_failed' });
    expect(data).toContainEqual(expect.objectContaining({ id, ...refusal }));
    expect(answer.body).toMatchObject({ meta: { total: data.length } });
    expect((await validator.call('PUT', `/orders/${id}`, { processing_status: 'validated' })).status).toBe(200);
    expect((await validator.call('POST', `/orders/${id}/approve`, {})).status).toBe(200);
  });
});

describe('one order', () => {
  it('is shown with its lines, the records they name, and its status', async () => {
    const id = await completeOrder();
    const answer = await auditor.call('GET', `/orders/${id.toUpperCase()}`);
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      data: {
        id,
        processing_status: 'pending_validation',
        approved_at: null,
        approver: null,
        buyer_customer_party: { external_id: 'C-1', name: 'Bakkerij De Molen' },
        accounting_customer_party: null,
        lines: [{ order_id: id, quantity: 3, item: { name: 'Tea' }, unit_code: { value: 'Piece' } }],
      },
    });
  });

  it.each(['019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10', 'nonsense'])('§7: %s is 404', async (id) => {
    for (const path of [`/orders/${id}`, `/orders/${id}/history`])
      await expectRefused(service(), 404, () => validator.call('GET', path));
    for (const action of ['approve', 'reject'])
      await expectRefused(service(), 404, () => validator.call('POST', `/orders/${id}/${action}`));
  });

  it('is shown with what is wrong with it; it is approved only with a reason why, which its history shows', async () => {
    const id = await completeOrder();
    expect(Object((await auditor.call('GET', `/orders/${id}`)).body).data).toMatchObject({
      problems: [],
      actions: ['save', 'reject'],
    });
    const unknown = '019aa4a5-3d51-7c3e-9d2f-6b1c0a8e4f10';
    await acme().create('dyn_order_line', { order_id: id, quantity: 0, item_id: unknown });
    await acme().update('dyn_stock_order', id, { processing_status: 'validated' });
    const { problems } = Object((await auditor.call('GET', `/orders/${id}`)).body).data;
    expect(problems).toEqual([
      { field: 'lines.1.unit_code_id', code: 'missing', message: expect.any(String) },
      { field: 'lines.1.item_id', code: 'unknown_reference', message: expect.stringContaining(unknown) },
      { field: 'lines.1.quantity', code: 'not_positive', message: expect.any(String) },
    ]);
    const approve = (body?: unknown) => validator.call('POST', `/orders/${id}/approve`, body);
    const fields = problems.map(({ field }: { field: string }) => field);
    const refused = await expectInvalid(service(), fields, () => approve());
    expect(Object(refused.body).errors['lines.1.item_id']).toEqual([problems[1].message]);
    await expectInvalid(service(), ['reason'], () => approve({ override: true }));
    await expectInvalid(service(), ['reason'], () => approve({ reason: 'Because.' }));
    expect((await approve({ override: true, reason: 'The item follows.' })).status).toBe(200);
    const history = dataOf(z.array(z.unknown()), await auditor.call('GET', `/orders/${id}/history`));
    expect(history.at(-1)).toMatchObject({ event: 'OrderApproved', reasons: ['The item follows.'] });
  });
});

describe('If-Match', () => {
  it('an order is saved as it was seen, with its lines and what they name, or it is 412 with the ETag of today', async () => {
    const id = await completeOrder();
    const tagOf = async () => String((await validator.call('GET', `/orders/${id}`)).headers.etag);
    const save = (tag: string, body: unknown) =>
      acme().platform('PUT', `/orders/${id}`, { token: validator.token, body, headers: { 'if-match': tag } });
    const seen = await tagOf();
    const saved = await save(seen, { notes: 'Ring twice' });
    expect(saved).toMatchObject({ status: 200, headers: { etag: await tagOf() } });
    expect((await save(String(saved.headers.etag), { notes: 'Ring once' })).status).toBe(200);
    const refused = await expectRefused(service(), 412, () => save(seen, { notes: 'Do not ring' }));
    expect(refused.headers.etag).toBe(await tagOf());
    const changes = [
      () => acme().create('dyn_order_line', { order_id: id, quantity: 2 }),
      () => acme().batch('dyn_party', [{ external_id: 'C-1', name: `Bakkerij ${id}` }]),
    ];
    for (const change of changes) {
      const before = await tagOf();
      await change();
      await expectRefused(service(), 412, () => save(before, { notes: 'Do not ring' }));
    }
    expect((await save('*', { notes: 'Knock' })).status).toBe(200);
  });
});

describe('the tables', () => {
  const part = (id: string) => `/tables/dyn_order_line/assets${id === '' ? '' : `/${id}`}`;

  it('with an order’s lines are changed by validators, on their own behalf; others are only read', async () => {
    const order_id = await newOrder();
    const added = await validator.call('POST', part(''), { order_id, quantity: 3 });
    expect(added).toMatchObject({ status: 201, body: { data: { order_id, quantity: 3 } } });
    const { id } = dataOf(z.looseObject({ id: z.string() }), added);
    const change = (quantity: number, tag: unknown) =>
      acme().platform('PUT', part(id), {
        token: validator.token,
        body: { quantity },
        headers: { 'if-match': String(tag) },
      });
    const changed = await change(4, added.headers.etag);
    expect(changed.body).toMatchObject({ data: { id, quantity: 4 } });
    await expectRefused(service(), 412, () => change(5, added.headers.etag));
    await expectInvalid(service(), ['quantity'], () => validator.call('PUT', part(id), { quantity: 'many' }));
    expect((await validator.call('DELETE', part(id))).status).toBe(204);
    const history = dataOf(z.array(z.unknown()), await validator.call('GET', `/orders/${order_id}/history`));
    const actor = { kind: 'user', id: String(validator.id), name: 'vera Bos' };
    expect(history.slice(1)).toMatchObject([{ actor }, { actor }, { actor }]);
  });
});

describe('approving and rejecting', () => {
  it('a rejection needs a reason; reasons must be texts', async () => {
    const id = await newOrder();
    await expectInvalid(service(), ['because', 'reasons.0'], () =>
      validator.call('POST', `/orders/${id}/reject`, { reasons: [1], because: 'x' }),
    );
    for (const body of [undefined, {}, { reasons: [] }])
      await expectInvalid(service(), ['reasons'], () => validator.call('POST', `/orders/${id}/reject`, body));
    const rejected = await validator.call('POST', `/orders/${id}/reject`, { reasons: ['Ordered twice.'] });
    expect(rejected.body).toMatchObject({ data: { processing_status: 'rejected', error_reason: ['Ordered twice.'] } });
  });
});
