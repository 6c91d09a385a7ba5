/** The states of an order, and who moves it between them (spec §3, §4.9). */
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { expectInvalid, expectRefused } from '../refusals.js';
import { party } from '../samples.js';
import type { AssetRecord, Fields, TenantClient } from '../tenant.js';
import { useService } from '../useService.js';

const { acme, service, tenant } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const hauler = () => tenant('hauler');

const STATES = ['pending_validation', 'saved', 'validated', 'rejected', 'submitted', 'submit_failed', 'completed'];
const UNKNOWN = '01a1feb1-9a64-76fa-95fa-131ef9230738';

beforeAll(async () => {
  await acme().create('dyn_party', party('C1'));
});

let goods: Promise<Fields> | undefined;

/** An order that lacks nothing for its export. */
async function orderWithLine(fields: Fields = {}): Promise<AssetRecord> {
  const order = await acme().create('dyn_stock_order', {
    buyer_customer_party_id: 'C1',
    delivery_date: '2026-12-01',
    ...fields,
  });
  goods ??= (async () => {
    const { id: unit_code_id } = await acme().create('dyn_unit_code', { code: 'PCE', value: 'Piece' });
    return { unit_code_id, item_id: (await acme().create('dyn_item', { external_id: 'TEA', name: 'Tea' })).id };
  })();
  await acme().create('dyn_order_line', { order_id: order.id, quantity: 2, ...(await goods) });
  return order;
}
const status = async (id: string) => (await acme().get('dyn_stock_order', id)).processing_status;
const setStatus = (id: string, processing_status: unknown, more: Fields = {}) =>
  acme().putRecord('dyn_stock_order', id, { processing_status, ...more });
async function validated(): Promise<AssetRecord> {
  const order = await orderWithLine();
  return acme().update('dyn_stock_order', order.id, { processing_status: 'validated' });
}

describe('status update', () => {
  it('§3: a new order is pending_validation', async () => {
    expect((await acme().create('dyn_stock_order', {})).processing_status).toBe('pending_validation');
    expect((await hauler().create('dyn_transport_order', {})).processing_status).toBe('pending_validation');
  });

  it('§3, §4.9: from any state the API moves an order to any other of the list', async () => {
    const { id } = await acme().create('dyn_stock_order', {});
    // Each pair of states in one direction at least, on one way through all of them.
    const way = STATES.flatMap((from, n) => STATES.slice(n + 1).flatMap((to) => [from, to])).concat(STATES);
    for (const to of way) {
      expect(await setStatus(id, to)).toMatchObject({ status: 200, body: { data: { id, processing_status: to } } });
    }
    expect(await status(id)).toBe(STATES.at(-1));
  });

  it('§4.9: the default order model of a transport tenant is updated in the same way', async () => {
    const { id } = await hauler().create('dyn_transport_order', {});
    expect(await hauler().update('dyn_transport_order', id, { processing_status: 'completed' })).toMatchObject({
      processing_status: 'completed',
    });
  });

  itOfRequests.each([
    ['failed, which only the service sets (decision)', 'failed'],
    ['an unknown state', 'done'],
    ['null', null],
    ['a list', ['completed']],
  ])('§4.9: %s is 422 on processing_status', async (_what, sent) => {
    const { id } = await acme().create('dyn_stock_order', {});
    await expectInvalid(service(), ['processing_status'], () => setStatus(id, sent));
    expect(await status(id)).toBe('pending_validation');
    if (sent !== null)
      await expectInvalid(service(), ['processing_status'], () =>
        acme().postRecord('dyn_stock_order', { processing_status: sent }),
      );
  });

  it('§3, §4.9: with submit_failed, error_reason messages are stored and shown on the platform', async () => {
    const { id } = await acme().create('dyn_stock_order', {});
    const error_reason = ['Item A1 is not known', 'Ünïcode "quotes" <b>'];
    expect(
      await acme().update('dyn_stock_order', id, { processing_status: 'submit_failed', error_reason }),
    ).toMatchObject({ error_reason });
    expect(await acme().get('dyn_stock_order', id)).toMatchObject({ error_reason, processing_status: 'submit_failed' });
    expect(await acme().platformData('GET', `/orders/${id}`)).toMatchObject({
      error_reason,
      processing_status: 'submit_failed',
    });
    expect(await acme().update('dyn_stock_order', id, { processing_status: 'completed' })).toMatchObject({
      error_reason: null,
    });
  });

  it.each<[what: string, sent: Fields, status: string, reasons: readonly string[] | null]>([
    [
      'the same status and reasons',
      { processing_status: 'submit_failed', error_reason: ['One'] },
      'submit_failed',
      ['One'],
    ],
    ['the same status alone', { processing_status: 'submit_failed' }, 'submit_failed', ['One']],
    ['other reasons', { error_reason: ['Two'] }, 'submit_failed', ['Two']],
    ['no reasons', { error_reason: null }, 'submit_failed', null],
    ['another status', { processing_status: 'saved' }, 'saved', null],
    ['another field', { notes: 'New' }, 'saved', ['One']],
  ])('§4.9: an order that failed for a reason and is sent %s', async (_what, sent, processing_status, error_reason) => {
    const failed = { processing_status: 'submit_failed', error_reason: ['One'] };
    const { id } = await acme().create('dyn_stock_order', failed);
    const before = await service().logHead();
    const updated = await acme().update('dyn_stock_order', id, sent);
    expect(updated).toMatchObject({ processing_status, error_reason });
    const isAsBefore = processing_status === 'submit_failed' && error_reason?.[0] === 'One';
    expect((await service().logHead()) === before).toBe(isAsBefore);
  });

  itOfRequests.each([
    ['a text', 'one', ['error_reason']],
    ['a list with null', [null, 'one', null], ['error_reason']],
  ])('§4.9: error_reason given as %s is 422 and names what is wrong', async (_what, error_reason, fields) => {
    const { id } = await acme().create('dyn_stock_order', {});
    await expectInvalid(service(), fields, () => setStatus(id, 'submit_failed', { error_reason }));
  });

  it('decision: PUT with other fields than the status changes the order and sets saved, unless a status is sent too', async () => {
    const { id } = await acme().create('dyn_stock_order', {});
    expect(await acme().update('dyn_stock_order', id, { notes: 'By phone' })).toMatchObject({
      notes: 'By phone',
      processing_status: 'saved',
    });
    const both = { notes: 'Twice', processing_status: 'validated' };
    expect(await acme().update('dyn_stock_order', id, both)).toMatchObject(both);
  });

  it('decision: who approved, and when, is set by the service alone; in a body it is ignored', async () => {
    const sent = { approved_by: 99, approved_at: '2020-01-01T00:00:00Z' };
    const order = await acme().create('dyn_stock_order', sent);
    expect(order).toMatchObject({ approved_by: null, approved_at: null });
    expect(await acme().update('dyn_stock_order', order.id, sent)).toEqual(order);
  });
});

describe('parts of an order', () => {
  it('§1: lines belong to an order that exists', async () => {
    const { id } = await acme().create('dyn_stock_order', {});
    const line = await acme().create('dyn_order_line', { order_id: id, quantity: '2.50', description: 'Tea' });
    expect(line).toMatchObject({ order_id: id, quantity: 2.5 });
    expect(await acme().get('dyn_order_line', line.id)).toEqual(line);
    for (const order_id of [UNKNOWN, line.id])
      await expectInvalid(service(), ['order_id'], () =>
        acme().postRecord('dyn_order_line', { order_id, quantity: 1 }),
      );
    await expectInvalid(service(), ['order_id', 'quantity'], () =>
      acme().postRecord('dyn_order_line', { order_id: '1' }),
    );
  });
});

describe('approval', () => {
  const approve = (id: string, tenant: TenantClient = acme()) =>
    tenant.platform('POST', `/orders/${id}/approve`, { body: { override: true, reason: 'It follows.' } });
  it('decision: without a webhook the approved order stays submitted; who and when are kept', async () => {
    const { id } = await validated();
    await approve(id);
    const order = await acme().get('dyn_stock_order', id);
    expect(order).toMatchObject({ processing_status: 'submitted', approved_by: 1, error_reason: null });
    expect(order.approved_at).toMatch(/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d/);
  });

  it.each(STATES.filter((state) => state !== 'validated'))(
    '§3: an order that is %s cannot be approved (409)',
    async (state) => {
      const { id } = await validated();
      await setStatus(id, state);
      await expectRefused(service(), 409, () => approve(id));
    },
  );

  it('§3: a person saves, validates and rejects orders; what is missing is named', async () => {
    const empty = await acme().create('dyn_stock_order', {});
    const save = (id: string, body: Fields) => acme().platform('PUT', `/orders/${id}`, { body });
    await expectInvalid(service(), ['buyer_customer_party_id', 'delivery_date', 'lines'], () =>
      save(empty.id, { processing_status: 'validated' }),
    );
    expect(await save(empty.id, { notes: 'x' })).toMatchObject({
      status: 200,
      body: { data: { processing_status: 'saved' } },
    });
    const { id } = await orderWithLine();
    expect(await save(id, { processing_status: 'validated' })).toMatchObject({ status: 200 });
    await acme().platformData('POST', `/orders/${id}/reject`, { reasons: ['Twice'] });
    await expectRefused(service(), 409, () => acme().platform('POST', `/orders/${id}/reject`, { body: {} }));
  });
});
