/** An order: given events, when a command, then events, or why not. */
import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import { transportModel } from '#app/domain/assetTypes/transportModel.js';
import { MAX_LIST_ENTRIES } from '#app/domain/limits.js';
import { approveOrder, deliverExport, failExport, holdExport, rejectOrder } from '#app/domain/order/approval.js';
import { addPart, createOrder, removePart, updateOrder, updatePart } from '#app/domain/order/decide.js';
import type { OrderEvent, Repeat } from '#app/domain/order/events.js';
import type { OrderDecision } from '#app/domain/order/order.js';
import { evolve, type Order, type OrderPart } from '#app/domain/order/order.js';
import type { ExportSnapshot } from '#app/domain/order/snapshot.js';
import { actionsOn } from '#app/domain/order/status.js';
import { copied, copiedOnce } from '#app/domain/writable.js';
import { cpuMs } from '../cpuTime.js';

const typeOf = (name: string): AssetType =>
  [...stockModel, ...transportModel].find((type) => type.name === name) as AssetType;
const [orderType, lineType] = [typeOf('dyn_stock_order'), typeOf('dyn_order_line')];
const ORDER_ID = '0190a000-0000-7000-8000-000000000001';
const LINE_ID = '0190a000-0000-7000-8000-000000000002';
const approver = { id: 7, first_name: 'Ann', last_name: 'Lee', locale: 'en', email: 'ann@example.com' };
const snapshot = { table: 'dyn_stock_order', order: {}, parts: [], related: {} } as unknown as ExportSnapshot;
const [AT, THEN] = ['2026-11-21T00:00:00.000000Z', '2026-11-21T00:00:01.000000Z'];

function given(...events: readonly OrderEvent[]): Order {
  const order = events.reduce<Order | undefined>(
    (state, event, n) => evolve(state, event, { id: `event-${n}`, at: AT.replace('00.000', `0${n}.000`) }),
    undefined,
  );
  if (order === undefined) throw new Error('no events');
  return order;
}
const withParts = (order: Order, ...parts: readonly OrderPart[]): Order => ({
  ...order,
  parts: new Map(parts.map((part) => [part.id, part])),
});
const part = (table: string, id: string, fields: Fields = {}): OrderPart => ({
  table,
  id,
  fields,
  createdAt: AT,
  updatedAt: AT,
});
const aLine = part('dyn_order_line', LINE_ID, { order_id: ORDER_ID });

const created = (status: Order['status'] = 'pending_validation'): OrderEvent => ({
  type: 'OrderCreated',
  data: { table: 'dyn_stock_order', fields: { customer_reference: 'PO 1' }, status },
});
const statusChanged = (
  from: Order['status'],
  to: Order['status'],
  errorReason: readonly string[] | null = null,
): OrderEvent => ({ type: 'OrderStatusChanged', data: { status: { from, to }, errorReason } });
const approved: OrderEvent = {
  type: 'OrderApproved',
  data: { status: { from: 'validated', to: 'submitted' }, approvedAt: THEN, approver, snapshot },
};
const inExport = [created('validated'), approved];

const events = (decision: OrderDecision) => (decision.kind === 'accepted' ? decision.events : decision);
const accepted = (decision: OrderDecision): readonly OrderEvent[] =>
  decision.kind === 'accepted' ? decision.events : [];
const invalid = (...fields: readonly string[]) => ({
  kind: 'invalid',
  errors: Object.fromEntries(fields.map((field) => [field, [expect.any(String)]])),
});
const update = (order: Order, fields: RecordInput['fields'], more?: Parameters<typeof updateOrder>[3]) =>
  updateOrder(order, ORDER_ID, { fields }, more);

describe('§3, §4.9 an update', () => {
  const submitted = given(created('submitted'));
  const failed = { ...given(created('submit_failed')), fields: { error_reason: ['no stock'] } };
  const set = statusChanged;
  const noted = {
    type: 'OrderChanged',
    data: { changes: { notes: { from: null, to: 'new' } }, status: { from: 'submit_failed', to: 'saved' } },
  };
  const [same, closed] = [{ error_reason: ['no stock'] }, { error_reason: ['closed'] }];
  const asBefore = { customer_reference: 'PO 1', processing_status: 'submitted' };
  test.each<[string, Order, RecordInput['fields'], readonly object[]]>([
    ['sets the status', submitted, { processing_status: 'completed' }, [set('submitted', 'completed')]],
    [
      'stores the reasons of submit_failed',
      submitted,
      { processing_status: 'submit_failed', error_reason: ['no stock'] },
      [set('submitted', 'submit_failed', ['no stock'])],
    ],
    ['with the same status changes nothing', failed, { processing_status: 'submit_failed' }, []],
    ['with the same reasons changes nothing', failed, same, []],
    ['of what is so already changes nothing', submitted, asBefore, []],
    ['takes other reasons in their place', failed, closed, [set('submit_failed', 'submit_failed', ['closed'])]],
    ['removes them with another status', failed, { processing_status: 'saved' }, [set('submit_failed', 'saved')]],
    ['removes them by themselves', failed, { error_reason: null }, [set('submit_failed', 'submit_failed')]],
    ['with reasons alone leaves the status', submitted, same, [set('submitted', 'submitted', ['no stock'])]],
    ['of fields sets saved, and leaves the reasons', failed, { notes: 'new' }, [noted]],
  ])('%s', (_what, order, fields, expected) => {
    expect(events(update(order, fields))).toEqual(expected);
  });

  test('takes no status away, and no id but its own', () => {
    const order = given(created());
    expect(update(order, { processing_status: null })).toMatchObject(invalid('processing_status'));
    expect(updateOrder(order, ORDER_ID, { id: LINE_ID, fields: {} })).toMatchObject(invalid('id'));
    expect(events(updateOrder(order, ORDER_ID, { id: ORDER_ID, fields: {} }))).toEqual([]);
  });

  test.each(['submitted', 'completed'] as const)('of one that is %s needs a status', (status) => {
    const order = withParts(given(created(status)), aLine);
    const removed = [{ table: 'dyn_order_line', id: LINE_ID, fields: aLine.fields }];
    const change = { added: [], changed: [], removed };
    for (const refused of [
      update(order, { notes: 'new' }),
      update(order, {}, change),
      addPart(order, lineType, { fields: { order_id: ORDER_ID, quantity: 1 } }, 'other'),
      updatePart(order, lineType, LINE_ID, { fields: { quantity: 2 } }),
      removePart(order, LINE_ID, new Map()),
    ]) {
      expect(refused.kind).toBe('conflict');
    }
    expect(events(update(order, { customer_reference: 'PO 1' }))).toEqual([]);
    expect(events(update(order, { processing_status: 'saved', notes: 'new' }, change))).toMatchObject([
      { type: 'OrderChanged', data: { status: { from: status, to: status } } },
      { type: 'OrderPartsChanged', data: { removed, status: { from: status, to: status } } },
      { type: 'OrderStatusChanged', data: { status: { from: status, to: 'saved' } } },
    ]);
  });

  test('of parts makes a validated order saved, also where as many come as go; a new one stays as it is', () => {
    const change = {
      added: [{ table: 'dyn_order_line', id: 'new', fields: { quantity: 1 } }],
      changed: [{ table: 'dyn_order_line', id: LINE_ID, changes: { quantity: { from: null, to: 2 } } }],
      removed: [],
    };
    const [validated, fresh] = [given(created('validated')), given(created())].map((each) => withParts(each, aLine));
    const status = { from: 'pending_validation', to: 'pending_validation' };
    expect(validated && events(update(validated, {}, change))).toEqual([
      { type: 'OrderPartsChanged', data: { ...change, status: { from: 'validated', to: 'saved' } } },
    ]);
    expect(fresh && events(update(fresh, {}, change))).toMatchObject([{ data: { status } }]);
    expect(fresh && events(update(fresh, { processing_status: 'validated' }, change))).toMatchObject([
      { type: 'OrderPartsChanged', data: { status } },
      { type: 'OrderStatusChanged', data: { status: { from: 'pending_validation', to: 'validated' } } },
    ]);
  });
});

describe('§1 an order and its parts', () => {
  test('a new one is pending_validation, without what is null, and is read with the parts that it was sent with', () => {
    const data = { table: 'dyn_stock_order', fields: { notes: 'x' }, status: 'pending_validation' };
    expect(events(createOrder(orderType, { fields: { notes: 'x', sales_order_id: null } }))).toEqual([
      { type: 'OrderCreated', data },
    ]);
    const line = { table: 'dyn_order_line', id: LINE_ID, fields: { quantity: 2 } };
    expect(given(...accepted(createOrder(orderType, { fields: {} }, [line]))).parts.get(LINE_ID)).toMatchObject(line);
  });

  test('it has at most 2,500 parts; those that are there can be changed', () => {
    const full = withParts(given(created()), ...Array.from({ length: 2_500 }, (_, n) => ({ ...aLine, id: `p${n}` })));
    const add = (order: Order) => addPart(order, lineType, { fields: { order_id: ORDER_ID, quantity: 1 } }, LINE_ID);
    expect(add(full)).toEqual({ kind: 'invalid', errors: { order_id: ['An order has at most 2500 parts.'] } });
    expect(updatePart(full, lineType, 'p7', { fields: { quantity: 2 } }).kind).toBe('accepted');
    expect(add(withParts(full, ...[...full.parts.values()].slice(1))).kind).toBe('accepted');
  });

  test('a part that is removed takes along the parts that belong to it, and theirs', () => {
    const order = withParts(
      given(created()),
      part('dyn_consignment', 'c1', { transport_order_id: ORDER_ID }),
      part('dyn_consignment', 'c2', { transport_order_id: ORDER_ID }),
      part('dyn_goods', 'g1', { consignment_id: 'c1' }),
      part('dyn_goods', 'g2', { consignment_id: 'c2' }),
    );
    const decision = removePart(order, 'c1', new Map(transportModel.map((type) => [type.name, type])));
    expect(events(decision)).toMatchObject([{ data: { removed: [{ id: 'c1' }, { id: 'g1' }] } }]);
    const after = accepted(decision).reduce((state, event) => evolve(state, event, { id: 'e', at: AT }), order);
    expect([...after.parts.keys()]).toEqual(['c2', 'g2']);
  });

  test('a line has an id of its own, of a version that the service does not make', () => {
    const order = withParts(given(created()), aLine);
    const fields = { order_id: ORDER_ID, quantity: 1 };
    const ofService = '0190a000-0000-7000-8000-000000000009';
    const add = (id: string) => addPart(order, lineType, { id, fields }, id);
    expect(add(LINE_ID)).toEqual({ kind: 'invalid', errors: { id: [`The id ${LINE_ID} is taken.`] } });
    expect(add(ofService)).toMatchObject({ kind: 'invalid', errors: { id: [expect.stringContaining('version 7')] } });
    expect(add('0190a000-0000-4000-8000-000000000009').kind).toBe('accepted');
    expect(addPart(order, lineType, { fields }, ofService).kind).toBe('accepted');
  });

  test('goods are added to a consignment of the order, and to nothing else', () => {
    const order = withParts(
      { ...given(created()), table: 'dyn_transport_order' },
      part('dyn_consignment', 'c1'),
      part('dyn_goods', 'g1'),
    );
    const add = (consignment_id: string) =>
      addPart(order, typeOf('dyn_goods'), { fields: { consignment_id, quantity: 1 } }, 'new');
    expect(add('c1').kind).toBe('accepted');
    for (const other of ['g1', 'unknown', ORDER_ID]) expect(add(other)).toMatchObject(invalid('consignment_id'));
  });

  test('a line stays with its order, names its own id or none, and its change makes the order saved', () => {
    const order = withParts(given(created('validated')), aLine);
    const change = (fields: RecordInput['fields'], id?: string) =>
      updatePart(order, lineType, LINE_ID, { fields, ...(id && { id }) });
    expect(change({ order_id: LINE_ID })).toMatchObject(invalid('order_id'));
    expect(change({}, ORDER_ID)).toMatchObject(invalid('id'));
    expect(events(change({ order_id: ORDER_ID }, LINE_ID))).toEqual([]);
    expect(events(change({ quantity: 3 }))).toMatchObject([
      { type: 'OrderPartChanged', data: { changes: { quantity: { from: null, to: 3 } }, status: { to: 'saved' } } },
    ]);
    expect(() => updatePart(order, lineType, 'other', { fields: {} })).toThrow('not of this order');
    expect(() => removePart(order, 'other', new Map())).toThrow('not of this order');
  });

  test('a log in which an order begins with anything but its creation is not read', () => {
    expect(() => given(approved)).toThrow('OrderApproved before OrderCreated.');
    const status = { from: 'saved', to: 'saved' } as const;
    const data = { table: 'dyn_order_line', id: LINE_ID, changes: {}, status };
    expect(() => given(created(), { type: 'OrderPartChanged', data })).toThrow(
      `${LINE_ID} changed before it was added.`,
    );
  });
});

describe('§3 approval', () => {
  const approve = (order: Order, more: Partial<Parameters<typeof approveOrder>[4]> = {}) =>
    approveOrder(order, approver, 'at', snapshot, { problems: [], ...more });
  const problems = [{ field: 'lines.0.item_id', code: 'unknown_reference', message: 'Unknown.' }] as const;

  test.each([
    ['pending_validation', ['save', 'reject']],
    ['saved', ['save', 'reject']],
    ['validated', ['save', 'approve', 'reject']],
    ['submit_failed', ['save', 'reject']],
    ['failed', ['save', 'approve', 'reject']],
    ['rejected', ['save']],
    ['submitted', []],
    ['completed', []],
  ] as const)('of one that is %s: what may be done is %j', (status, actions) => {
    expect(actionsOn(status)).toEqual(actions);
    const decision = approve(given(created(status)));
    expect(decision).toMatchObject(
      actions.some((action) => action === 'approve')
        ? { events: [{ type: 'OrderApproved', data: { status: { from: status, to: 'submitted' } } }] }
        : { kind: 'conflict', message: expect.stringContaining(status) },
    );
    const canReject = actions.some((action) => action === 'reject');
    expect(rejectOrder(given(created(status)), ['double']).kind).toBe(canReject ? 'accepted' : 'conflict');
  });

  test('of an order with problems needs a reason, which is kept with them; without problems none is kept', () => {
    const order = given(created('validated'));
    expect(approve(order, { problems })).toEqual({ kind: 'invalid', errors: { 'lines.0.item_id': ['Unknown.'] } });
    expect(approve(given(created('saved')), { problems, reason: 'It follows.' }).kind).toBe('conflict');
    const overridden = events(approve(order, { problems, reason: 'It follows.' }));
    expect(overridden).toMatchObject([{ data: { override: { reason: 'It follows.', problems } } }]);
    const data = { status: { from: 'validated', to: 'submitted' }, approvedAt: 'at', approver, snapshot };
    expect(events(approve(order, { repeats: [], reason: 'x' }))).toEqual([{ type: 'OrderApproved', data }]);
  });

  test('names the exports that it repeats, where there are some', () => {
    const repeats = [{ webhookId: 'w' }] as unknown as Repeat[];
    const [event] = accepted(approve(given(created('validated')), { repeats }));
    expect(event).toMatchObject({ data: { repeats } });
    const order = given(created('validated'), { ...approved, data: { ...approved.data, repeats } });
    expect(order.lastApproval).toMatchObject({ id: 'event-1', at: THEN, repeats });
    expect(given(...inExport).lastApproval?.repeats).toEqual([]);
  });

  test('a rejection has a reason', () => {
    expect(rejectOrder(given(created('saved')), [])).toMatchObject(invalid('reasons'));
    const [event] = accepted(rejectOrder(given(created('saved')), ['double']));
    expect(event).toMatchObject({ type: 'OrderRejected', data: { reasons: ['double'] } });
  });
});

describe('§6.4 an export', () => {
  const failure = (webhookId = 'w', approvalEventId = 'event-1', reasons = [`${webhookId}: HTTP 500`]) => ({
    approvalEventId,
    reasons,
    webhookId,
    deliveryId: `d-${webhookId}`,
  });

  test('that failed puts the approved order to failed, with the reason, once', () => {
    const failed = failExport(given(...inExport), failure());
    const event = { type: 'OrderExportFailed', data: { status: { from: 'submitted', to: 'failed' } } };
    expect(events(failed)).toMatchObject([event]);
    const after = given(...inExport, ...accepted(failed));
    expect(after.fields.error_reason).toEqual(['w: HTTP 500']);
    expect(events(failExport(after, failure()))).toEqual([]);
  });

  const saved: OrderEvent = { type: 'OrderChanged', data: { changes: {}, status: { from: 'submitted', to: 'saved' } } };
  const again: OrderEvent = { ...approved, data: { ...approved.data, status: { from: 'saved', to: 'submitted' } } };
  test.each<[string, readonly OrderEvent[], string, number]>([
    ['of another approval', inExport, 'another', 0],
    ['of an order that was completed', [...inExport, statusChanged('submitted', 'completed')], 'event-1', 0],
    ['of an order that was changed', [...inExport, saved], 'event-1', 0],
    ['of the approval before', [...inExport, saved, again], 'event-1', 0],
    ['of the last of two approvals', [...inExport, saved, again], 'event-3', 1],
  ])('%s: a failure of it is one of the order', (_what, history, approval, count) => {
    expect(events(failExport(given(...history), failure('w', approval)))).toHaveLength(count);
  });

  test('that waits for a disabled webhook is told once for each time that it is disabled', () => {
    const hold = (since: string, approvalEventId = 'event-1') => ({
      approvalEventId,
      deliveryId: 'd',
      warning: { code: 'webhook_disabled', webhookId: 'w', name: 'ERP', reason: 'Gone.', since } as const,
    });
    const first = accepted(holdExport(given(...inExport), hold('t1')));
    const status = { from: 'submitted', to: 'submitted' };
    expect(first).toMatchObject([{ type: 'OrderExportHeld', data: { status } }]);
    const held = given(...inExport, ...first);
    expect(events(holdExport(held, hold('t1')))).toEqual([]);
    expect(events(holdExport(held, hold('t2')))).toMatchObject([{ data: { warning: { since: 't2' } } }]);
    expect(events(holdExport(held, hold('t2', 'event-0')))).toEqual([]);
    expect(held.updatedAt).toBe(given(...inExport).updatedAt);
    const told = { ...approved, data: { ...approved.data, warnings: [hold('t1').warning] } };
    expect(events(holdExport(given(created('validated'), told), hold('t1')))).toEqual([]);
  });

  test('that was sent again brings the order back when no webhook lacks it any more', () => {
    const history: OrderEvent[] = [...inExport];
    const happens = (decide: (order: Order) => OrderDecision): readonly OrderEvent[] => {
      const more = accepted(decide(given(...history)));
      history.push(...more);
      return more;
    };
    const deliver = (webhookId: string, approvalEventId = 'event-1') =>
      happens((order) => deliverExport(order, { approvalEventId, webhookId, deliveryId: 'r' }));
    const fail = (webhookId: string) => happens((order) => failExport(order, failure(webhookId)));
    expect(deliver('a')).toEqual([]);
    for (const webhook of ['a', 'b']) expect([fail(webhook), fail(webhook)]).toMatchObject([[{}], []]);
    expect(given(...history).fields.error_reason).toEqual(['a: HTTP 500', 'b: HTTP 500']);
    expect(deliver('a', 'another')).toEqual([]);
    expect(deliver('a')).toMatchObject([
      { type: 'OrderExportDelivered', data: { status: { from: 'failed', to: 'failed' }, webhookId: 'a' } },
    ]);
    expect(deliver('a')).toEqual([]);
    expect(deliver('b')).toMatchObject([{ data: { status: { from: 'failed', to: 'submitted' }, reasons: [] } }]);
    const back = { status: 'submitted', approval: 'event-1', fields: { error_reason: null } };
    expect(given(...history)).toMatchObject(back);
    // Another webhook's own attempts may still be under way.
    expect(fail('c')).toHaveLength(1);
    history.push(statusChanged('failed', 'saved'));
    expect(deliver('c')).toEqual([]);
  });

  test('has the reasons of its failure in place of earlier ones, and those of a second webhook behind them', () => {
    const history = [...inExport, statusChanged('submitted', 'submitted', ['noted before'])];
    for (const webhookId of ['a', 'b']) {
      const reasons = Array.from({ length: MAX_LIST_ENTRIES - 1 }, (_, n) => `${webhookId}${n}`);
      history.push(...accepted(failExport(given(...history), failure(webhookId, 'event-1', reasons))));
    }
    const reasons = given(...history).fields.error_reason as readonly string[];
    expect([reasons.length, reasons[0], reasons.at(-1)]).toEqual([MAX_LIST_ENTRIES, 'a0', 'b0']);
    expect(given(...history).failed).toEqual({ approvalEventId: 'event-1', webhookIds: ['a', 'b'] });
  });
});

describe('an order of thousands of lines', () => {
  const status = { from: 'saved', to: 'saved' } as const;
  const line = (n: number): OrderEvent => {
    return {
      type: 'OrderPartAdded',
      data: { table: 'dyn_order_line', id: `line-${n}`, fields: { quantity: n }, status },
    };
  };
  const evolved = (before: Order | undefined, history: readonly OrderEvent[], writable = copied): Order | undefined =>
    history.reduce<Order | undefined>(
      (order, event, n) => evolve(order, event, { id: `event-${n}`, at: `at ${n}` }, writable),
      before,
    );

  test('is evolved in a time that grows with its events, not with their square', () => {
    const history = [created('saved'), ...Array.from({ length: 20_000 }, (_, n) => line(n))];
    const before = cpuMs();
    expect(evolved(undefined, history, copiedOnce())?.parts.size).toBe(20_000);
    // With a copy of the lines for each event it takes minutes.
    expect(cpuMs() - before).toBeLessThan(5_000);
  });

  test('evolved at once is what it is event by event, and the order before stays as it was', () => {
    const data = { table: 'dyn_order_line', id: 'line-1', changes: { quantity: { from: 1, to: 5 } }, status };
    const changed: OrderEvent = { type: 'OrderPartChanged', data };
    const order = evolved(undefined, [created('saved'), line(0), line(1)], copiedOnce());
    const kept = structuredClone(order);
    const then = [changed, approved, line(2), changed];
    expect(evolved(order, then, copiedOnce())).toEqual(evolved(order, then));
    expect(order).toEqual(kept);
  });
});
