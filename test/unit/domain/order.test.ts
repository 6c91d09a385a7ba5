import type { AssetType } from '#app/domain/assetTypes/assetType.js';
import type { Fields } from '#app/domain/assetTypes/fieldTypes.js';
import type { RecordInput } from '#app/domain/assetTypes/recordSchema.js';
import { stockModel } from '#app/domain/assetTypes/stockModel.js';
import { transportModel } from '#app/domain/assetTypes/transportModel.js';
import { MAX_LIST_ENTRIES, MAX_ORDER_DOCUMENT } from '#app/domain/limits.js';
import { approveOrder, deliverExport, failExport, holdExport, rejectOrder } from '#app/domain/order/approval.js';
import { addPart, createOrder, removePart, updateOrder, updatePart } from '#app/domain/order/decide.js';
import type { OrderEvent, Repeat } from '#app/domain/order/events.js';
import { exportText, OrderDocumentTooLargeError } from '#app/domain/order/exportDocument.js';
import type { OrderDecision } from '#app/domain/order/order.js';
import { evolve, type Order } from '#app/domain/order/order.js';
import type { ExportSnapshot } from '#app/domain/order/snapshot.js';
import { actionsOn } from '#app/domain/order/status.js';
import { copied, copiedOnce } from '#app/domain/writable.js';
import { cpuMs } from '../cpuTime.js';

const documentOf = (...asked: Parameters<typeof exportText>) => JSON.parse([...exportText(...asked)].join(''));

const orderType = stockModel.find((type) => type.role === 'order') as AssetType;
const lineType = stockModel.find((type) => type.role === 'part') as AssetType;
const ORDER_ID = '0190a000-0000-7000-8000-000000000001';
const LINE_ID = '0190a000-0000-7000-8000-000000000002';
const approver = { id: 7, first_name: 'Ann', last_name: 'Lee', locale: 'en', email: 'ann@example.com' };
const snapshot = { table: 'dyn_stock_order', order: {}, parts: [], related: {} } as unknown as ExportSnapshot;

const input = (fields: RecordInput['fields']): RecordInput => ({ fields });

function given(...events: OrderEvent[]): Order {
  const at = (index: number) => `2026-11-21T00:00:0${index}.000000Z`;
  const order = events.reduce<Order | undefined>(
    (state, event, index) => evolve(state, event, { id: `event-${index}`, at: at(index) }),
    undefined,
  );
  if (order === undefined) throw new Error('no events');
  return order;
}

const created = (status: Order['status'] = 'pending_validation'): OrderEvent => ({
  type: 'OrderCreated',
  data: { table: 'dyn_stock_order', fields: { customer_reference: 'PO 1' }, status },
});
const approved: OrderEvent = {
  type: 'OrderApproved',
  data: {
    status: { from: 'validated', to: 'submitted' },
    approvedAt: '2026-11-21T00:00:01.000000Z',
    approver,
    snapshot,
  },
};

const aPart = {
  table: 'dyn_order_line',
  id: LINE_ID,
  fields: { order_id: ORDER_ID },
  createdAt: '2026-11-21T00:00:00.000000Z',
  updatedAt: '2026-11-21T00:00:00.000000Z',
};

const evolveAt = (state: Order, event: OrderEvent): Order => evolve(state, event, { id: 'event', at: aPart.createdAt });

const events = (decision: OrderDecision) => (decision.kind === 'accepted' ? decision.events : decision);

describe('an order, given events, when a command, then events', () => {
  it('an order has at most 2,500 parts; those that are there can be changed', () => {
    const order = given(created());
    const full: Order = { ...order, parts: new Map(Array.from({ length: 2_500 }, (_, n) => [`part-${n}`, aPart])) };
    const line = input({ order_id: ORDER_ID, quantity: 1 });
    expect(addPart(full, lineType, line, LINE_ID)).toEqual({
      kind: 'invalid',
      errors: { order_id: ['An order has at most 2500 parts.'] },
    });
    expect(updatePart(full, lineType, 'part-7', input({ quantity: 2 })).kind).toBe('accepted');
    const oneLess = { ...full, parts: new Map([...full.parts].slice(1)) };
    expect(addPart(oneLess, lineType, line, LINE_ID).kind).toBe('accepted');
  });

  it.each(['submitted', 'completed'] as const)('one that is %s changes only together with a status', (status) => {
    const order: Order = { ...given(created(status)), parts: new Map([[LINE_ID, aPart]]) };
    const removed = [{ table: 'dyn_order_line', id: LINE_ID, fields: aPart.fields }];
    const change = { added: [], changed: [], removed };
    const refused = [
      updateOrder(order, ORDER_ID, input({ notes: 'new' })),
      updateOrder(order, ORDER_ID, input({}), change),
      addPart(order, lineType, input({ order_id: ORDER_ID, quantity: 1 }), 'other'),
      updatePart(order, lineType, LINE_ID, input({ quantity: 2 })),
      removePart(order, LINE_ID, new Map()),
    ];
    expect(refused.map(({ kind }) => kind)).toEqual(Array(5).fill('conflict'));
    expect(events(updateOrder(order, ORDER_ID, input({ customer_reference: 'PO 1' })))).toEqual([]);
    const sent = input({ processing_status: 'saved', notes: 'new' });
    expect(events(updateOrder(order, ORDER_ID, sent, change))).toMatchObject([
      { type: 'OrderChanged', data: { status: { from: status, to: status } } },
      { type: 'OrderPartsChanged', data: { removed, status: { from: status, to: status } } },
      { type: 'OrderStatusChanged', data: { status: { from: status, to: 'saved' } } },
    ]);
  });

  it('what a part takes along when it is removed are the parts that belong to it, and theirs', () => {
    const part = (table: string, id: string, fields: Fields) => ({ ...aPart, table, id, fields });
    const parts = [
      part('dyn_consignment', 'c1', { transport_order_id: ORDER_ID }),
      part('dyn_consignment', 'c2', { transport_order_id: ORDER_ID }),
      part('dyn_goods', 'g1', { consignment_id: 'c1' }),
      part('dyn_goods', 'g2', { consignment_id: 'c2' }),
    ];
    const order: Order = { ...given(created()), parts: new Map(parts.map((each) => [each.id, each])) };
    const types = new Map(transportModel.map((type) => [type.name, type]));
    const decision = removePart(order, 'c1', types);
    expect(events(decision)).toMatchObject([{ data: { removed: [{ id: 'c1' }, { id: 'g1' }] } }]);
    const after = decision.kind === 'accepted' ? decision.events.reduce(evolveAt, order) : order;
    expect([...after.parts.keys()]).toEqual(['c2', 'g2']);
  });

  it('an order is read with the parts that it was sent with', () => {
    const decision = createOrder(orderType, input({}), [
      { table: 'dyn_order_line', id: LINE_ID, fields: { quantity: 2 } },
    ]);
    const order = given(...(decision.kind === 'accepted' ? decision.events : []));
    expect(order.parts.get(LINE_ID)).toMatchObject({ table: 'dyn_order_line', fields: { quantity: 2 } });
  });

  it('§3 a new order is pending_validation', () => {
    expect(events(createOrder(orderType, input({ notes: 'x', sales_order_id: null })))).toEqual([
      {
        type: 'OrderCreated',
        data: { table: 'dyn_stock_order', fields: { notes: 'x' }, status: 'pending_validation' },
      },
    ]);
  });

  it('§4.9 a status update sets the status as sent, from any status', () => {
    expect(
      events(updateOrder(given(created('submitted')), ORDER_ID, input({ processing_status: 'completed' }))),
    ).toEqual([
      { type: 'OrderStatusChanged', data: { status: { from: 'submitted', to: 'completed' }, errorReason: null } },
    ]);
  });

  it('§4.9 submit_failed stores its reasons; completed clears them', () => {
    const failed = updateOrder(
      given(created('submitted')),
      ORDER_ID,
      input({ processing_status: 'submit_failed', error_reason: ['no stock'] }),
    );
    expect(events(failed)).toEqual([
      {
        type: 'OrderStatusChanged',
        data: { status: { from: 'submitted', to: 'submit_failed' }, errorReason: ['no stock'] },
      },
    ]);
    const order = given(created('submitted'), ...(failed.kind === 'accepted' ? failed.events : []));
    expect(order.fields.error_reason).toEqual(['no stock']);
    expect(events(updateOrder(order, ORDER_ID, input({ processing_status: 'completed' })))).toMatchObject([
      { data: { errorReason: null } },
    ]);
  });

  it('a change of fields sets saved, unless a status is sent too', () => {
    const order = given(created());
    expect(events(updateOrder(order, ORDER_ID, input({ notes: 'new' })))).toEqual([
      {
        type: 'OrderChanged',
        data: { changes: { notes: { from: null, to: 'new' } }, status: { from: 'pending_validation', to: 'saved' } },
      },
    ]);
    const both = updateOrder(order, ORDER_ID, input({ notes: 'new', processing_status: 'validated' }));
    expect(given(created(), ...(both.kind === 'accepted' ? both.events : [])).status).toBe('validated');
  });

  it('nothing new, no event', () => {
    expect(
      events(
        updateOrder(
          given(created()),
          ORDER_ID,
          input({ customer_reference: 'PO 1', processing_status: 'pending_validation' }),
        ),
      ),
    ).toEqual([]);
  });

  it('§3: a status is set by its name, never taken away; the reasons alone leave it as it is', () => {
    const order = given(created('submitted'));
    expect(updateOrder(order, ORDER_ID, { fields: { processing_status: null } })).toMatchObject({
      kind: 'invalid',
      errors: { processing_status: [expect.any(String)] },
    });
    const explained = updateOrder(order, ORDER_ID, input({ error_reason: ['no stock'] }));
    expect(events(explained)).toEqual([
      {
        type: 'OrderStatusChanged',
        data: { status: { from: 'submitted', to: 'submitted' }, errorReason: ['no stock'] },
      },
    ]);
    expect(updateOrder(order, ORDER_ID, { id: ORDER_ID, fields: {} })).toEqual({ kind: 'accepted', events: [] });
  });

  it('§4.9 reasons stay with submit_failed, and go with any other status', () => {
    const order = { ...given(created('submit_failed')), fields: { error_reason: ['no stock'] } };
    const set = (fields: RecordInput['fields']) => events(updateOrder(order, ORDER_ID, input(fields)));
    expect(set({ processing_status: 'submit_failed' })).toEqual([]);
    expect(set({ processing_status: 'submit_failed', error_reason: ['no stock'] })).toEqual([]);
    expect(set({ processing_status: 'submit_failed', error_reason: ['closed'] })).toMatchObject([
      { data: { errorReason: ['closed'] } },
    ]);
    expect(set({ processing_status: 'saved' })).toMatchObject([{ data: { errorReason: null } }]);
    expect(set({ error_reason: null })).toMatchObject([{ data: { errorReason: null } }]);
    // Without a status, a change of fields says nothing of the reasons.
    expect(set({ notes: 'new' })).toMatchObject([{ type: 'OrderChanged' }]);
    const without = given(created('submit_failed'));
    expect(events(updateOrder(without, ORDER_ID, input({ processing_status: 'submit_failed' })))).toEqual([]);
  });

  it('parts that come and go in one request change the order, also as many as go', () => {
    const order: Order = { ...given(created('validated')), parts: new Map([[LINE_ID, aPart]]) };
    const part = (id: string) => ({ table: 'dyn_order_line', id, fields: { quantity: 1 } });
    const changes = { quantity: { from: null, to: 2 } };
    const change = {
      added: [part('new')],
      changed: [{ table: 'dyn_order_line', id: LINE_ID, changes }],
      removed: [],
    };
    expect(events(updateOrder(order, ORDER_ID, input({}), change))).toEqual([
      { type: 'OrderPartsChanged', data: { ...change, status: { from: 'validated', to: 'saved' } } },
    ]);
    const fresh: Order = { ...order, status: 'pending_validation' };
    expect(events(updateOrder(fresh, ORDER_ID, input({}), change))).toMatchObject([
      { data: { status: { from: 'pending_validation', to: 'pending_validation' } } },
    ]);
    const validated = input({ processing_status: 'validated' });
    expect(events(updateOrder(fresh, ORDER_ID, validated, change))).toMatchObject([
      { type: 'OrderPartsChanged', data: { status: { from: 'pending_validation', to: 'pending_validation' } } },
      { type: 'OrderStatusChanged', data: { status: { from: 'pending_validation', to: 'validated' } } },
    ]);
  });

  it('a line has an id of its own, of a version that the service does not make', () => {
    const order: Order = { ...given(created()), parts: new Map([[LINE_ID, aPart]]) };
    const fields = { order_id: ORDER_ID, quantity: 1 };
    const add = (id: string) => addPart(order, lineType, { id, fields }, id);
    expect(add(LINE_ID)).toEqual({ kind: 'invalid', errors: { id: [`The id ${LINE_ID} is taken.`] } });
    expect(add('0190a000-0000-7000-8000-000000000009')).toMatchObject({
      kind: 'invalid',
      errors: { id: [expect.stringContaining('version 7')] },
    });
    expect(add('0190a000-0000-4000-8000-000000000009').kind).toBe('accepted');
    // Without a choice the id is the service's.
    expect(addPart(order, lineType, { fields }, '0190a000-0000-7000-8000-000000000009').kind).toBe('accepted');
  });

  it('goods are added to a consignment of the order, and to nothing else', () => {
    const part = (table: string, id: string) => ({ ...aPart, table, id });
    const parts = [part('dyn_consignment', 'c1'), part('dyn_goods', 'g1')];
    const order: Order = {
      ...given(created()),
      table: 'dyn_transport_order',
      parts: new Map(parts.map((each) => [each.id, each])),
    };
    const goodsType = transportModel.find(({ name }) => name === 'dyn_goods') as AssetType;
    const consignmentType = transportModel.find(({ name }) => name === 'dyn_consignment') as AssetType;
    const add = (consignment_id: string) => addPart(order, goodsType, input({ consignment_id, quantity: 1 }), 'new');
    expect(add('c1').kind).toBe('accepted');
    for (const other of ['g1', 'unknown', ORDER_ID]) {
      expect(add(other)).toMatchObject({ kind: 'invalid', errors: { consignment_id: [expect.any(String)] } });
    }
    // Which order it belongs to was looked up by that field.
    expect(addPart(order, consignmentType, input({ transport_order_id: ORDER_ID }), 'new').kind).toBe('accepted');
  });

  it('an update of a line names its own id or none, its own order or none, and is none where nothing changes', () => {
    const order: Order = { ...given(created('submitted')), parts: new Map([[LINE_ID, aPart]]) };
    const update = (fields: RecordInput['fields'], id?: string) =>
      updatePart(order, lineType, LINE_ID, { fields, ...(id && { id }) });
    expect(update({}, ORDER_ID)).toMatchObject({ kind: 'invalid', errors: { id: [expect.any(String)] } });
    expect(update({ order_id: ORDER_ID }, LINE_ID)).toEqual({ kind: 'accepted', events: [] });
    expect(update({ quantity: 3 }).kind).toBe('conflict');
    expect(() => updatePart(order, lineType, 'other', input({}))).toThrow('not of this order');
    expect(() => removePart(order, 'other', new Map())).toThrow('not of this order');
  });

  it('an id that differs from the path is refused', () => {
    expect(updateOrder(given(created()), ORDER_ID, { id: LINE_ID, fields: {} })).toMatchObject({
      kind: 'invalid',
      errors: { id: [expect.any(String)] },
    });
  });

  it('a line stays with its order, and changing one makes the order saved', () => {
    const added = addPart(given(created()), lineType, input({ order_id: ORDER_ID, quantity: 2 }), LINE_ID);
    expect(events(added)).toMatchObject([
      { type: 'OrderPartAdded', data: { id: LINE_ID, status: { to: 'pending_validation' } } },
    ]);
    const order = given(created('validated'), ...(added.kind === 'accepted' ? added.events : []));
    expect(updatePart(order, lineType, LINE_ID, input({ order_id: LINE_ID }))).toMatchObject({
      kind: 'invalid',
      errors: { order_id: [expect.any(String)] },
    });
    expect(
      events(
        updatePart(
          given(created(), ...(added.kind === 'accepted' ? added.events : []), approvedToSaved()),
          lineType,
          LINE_ID,
          input({ quantity: 3 }),
        ),
      ),
    ).toMatchObject([
      { type: 'OrderPartChanged', data: { changes: { quantity: { from: 2, to: 3 } }, status: { to: 'saved' } } },
    ]);
  });
});

const approvedToSaved = (): OrderEvent => ({
  type: 'OrderStatusChanged',
  data: { status: { from: 'pending_validation', to: 'validated' }, errorReason: null },
});

describe('§3 approval', () => {
  it('of an order with problems needs a reason, which is kept with them', () => {
    const problems = [{ field: 'lines.0.item_id', code: 'unknown_reference', message: 'Unknown.' }] as const;
    const approve = (status: Order['status'], reason?: string) =>
      approveOrder(given(created(status)), approver, 'at', snapshot, { problems, reason });
    expect(approve('validated')).toEqual({ kind: 'invalid', errors: { 'lines.0.item_id': ['Unknown.'] } });
    expect(approve('saved', 'It follows.').kind).toBe('conflict');
    expect(events(approve('validated', 'It follows.'))).toMatchObject([
      { type: 'OrderApproved', data: { override: { reason: 'It follows.', problems } } },
    ]);
    const sound = approveOrder(given(created('validated')), approver, 'at', snapshot, { problems: [], reason: 'x' });
    expect(events(sound)).toMatchObject([{ data: expect.not.objectContaining({ override: expect.anything() }) }]);
  });

  it.each(['validated', 'failed'] as const)('is possible when the order is %s', (status) => {
    expect(
      events(approveOrder(given(created(status)), approver, '2026-11-21T00:00:09.000000Z', snapshot, { problems: [] })),
    ).toMatchObject([{ type: 'OrderApproved', data: { status: { from: status, to: 'submitted' } } }]);
  });

  it.each(['pending_validation', 'saved', 'submitted', 'completed', 'rejected', 'submit_failed'] as const)(
    'is refused when it is %s',
    (status) => {
      expect(approveOrder(given(created(status)), approver, 'x', snapshot, { problems: [] })).toMatchObject({
        kind: 'conflict',
        message: expect.stringContaining(status),
      });
    },
  );

  it('§6.4 a failed export puts the approved order to failed, with the reason, once', () => {
    const order = given(created('validated'), approved);
    const failure = { approvalEventId: 'event-1', reasons: ['HTTP 500'], webhookId: 'w', deliveryId: 'd' };
    const failed = failExport(order, failure);
    expect(events(failed)).toMatchObject([
      { type: 'OrderExportFailed', data: { status: { from: 'submitted', to: 'failed' } } },
    ]);
    const after = given(created('validated'), approved, ...(failed.kind === 'accepted' ? failed.events : []));
    expect(after.fields.error_reason).toEqual(['HTTP 500']);
    expect(events(failExport(after, failure))).toEqual([]);
  });

  it('§6.4 an export that waits for a disabled webhook is told once for each time that it is disabled', () => {
    const hold = (since: string) => ({
      approvalEventId: 'event-1',
      deliveryId: 'd',
      warning: { code: 'webhook_disabled', webhookId: 'w', name: 'ERP', reason: 'Gone.', since } as const,
    });
    const decision = holdExport(given(created('validated'), approved), hold('t1'));
    const first = decision.kind === 'accepted' ? decision.events : [];
    expect(first).toMatchObject([
      { type: 'OrderExportHeld', data: { status: { from: 'submitted', to: 'submitted' } } },
    ]);
    const held = given(created('validated'), approved, ...first);
    expect(events(holdExport(held, hold('t1')))).toEqual([]);
    expect(events(holdExport(held, hold('t2')))).toMatchObject([{ data: { warning: { since: 't2' } } }]);
    expect(events(holdExport(held, { ...hold('t2'), approvalEventId: 'event-0' }))).toEqual([]);
    expect(held.updatedAt).toBe(given(created('validated'), approved).updatedAt);
    const said = { ...approved, data: { ...approved.data, warnings: [hold('t1').warning] } };
    expect(events(holdExport(given(created('validated'), said), hold('t1')))).toEqual([]);
  });

  it('an export that was sent again brings the order back when no webhook lacks it any more', () => {
    const history: OrderEvent[] = [created('validated'), approved];
    const happens = (decide: (order: Order) => OrderDecision): readonly OrderEvent[] => {
      const decision = decide(given(...history));
      const more = decision.kind === 'accepted' ? decision.events : [];
      history.push(...more);
      return more;
    };
    const failure = (webhookId: string, approvalEventId = 'event-1') => ({
      approvalEventId,
      reasons: [`${webhookId}: HTTP 500`],
      webhookId,
      deliveryId: `d-${webhookId}`,
    });
    const late = (webhookId: string, approvalEventId = 'event-1') => ({ approvalEventId, webhookId, deliveryId: 'r' });
    expect(happens((order) => deliverExport(order, late('a')))).toEqual([]);
    for (const webhook of ['a', 'b']) {
      expect(happens((order) => failExport(order, failure(webhook)))).toHaveLength(1);
      expect(happens((order) => failExport(order, failure(webhook)))).toEqual([]);
    }
    expect(given(...history).fields.error_reason).toEqual(['a: HTTP 500', 'b: HTTP 500']);
    expect(happens((order) => deliverExport(order, late('a', 'another')))).toEqual([]);
    expect(happens((order) => deliverExport(order, late('a')))).toMatchObject([
      { type: 'OrderExportDelivered', data: { status: { from: 'failed', to: 'failed' }, webhookId: 'a' } },
    ]);
    expect(happens((order) => deliverExport(order, late('a')))).toEqual([]);
    expect(happens((order) => deliverExport(order, late('b')))).toMatchObject([
      { data: { status: { from: 'failed', to: 'submitted' }, reasons: [] } },
    ]);
    expect(given(...history)).toMatchObject({
      status: 'submitted',
      approval: 'event-1',
      fields: { error_reason: null },
    });
    // Another webhook's own attempts may still be under way.
    expect(happens((order) => failExport(order, failure('c')))).toHaveLength(1);
    history.push({
      type: 'OrderStatusChanged',
      data: { status: { from: 'failed', to: 'saved' }, errorReason: null },
    });
    expect(happens((order) => deliverExport(order, late('c')))).toEqual([]);
  });

  it('a failure of an earlier approval does not touch an order that moved on', () => {
    const order = given(created('validated'), approved);
    expect(
      events(failExport(order, { approvalEventId: 'another', reasons: [], webhookId: 'w', deliveryId: 'd' })),
    ).toEqual([]);
    const completed = given(created('validated'), approved, {
      type: 'OrderStatusChanged',
      data: { status: { from: 'submitted', to: 'completed' }, errorReason: null },
    });
    expect(
      events(failExport(completed, { approvalEventId: 'event-1', reasons: [], webhookId: 'w', deliveryId: 'd' })),
    ).toEqual([]);
  });

  it('keeps a reason only where there were problems, and repeats only where there were some', () => {
    const approve = (more: { repeats?: Repeat[]; reason?: string } = {}) =>
      events(approveOrder(given(created('validated')), approver, 'at', snapshot, { problems: [], ...more }));
    const repeats = [{ webhookId: 'w' }] as unknown as Repeat[];
    const data = { status: { from: 'validated', to: 'submitted' }, approvedAt: 'at', approver, snapshot };
    expect(approve()).toEqual([{ type: 'OrderApproved', data }]);
    expect(approve({ repeats: [], reason: 'x' })).toEqual([{ type: 'OrderApproved', data }]);
    expect(approve({ repeats })).toEqual([{ type: 'OrderApproved', data: { ...data, repeats } }]);
    const order = given(created('validated'), { ...approved, data: { ...approved.data, repeats } });
    expect(order.lastApproval).toMatchObject({ id: 'event-1', at: '2026-11-21T00:00:01.000000Z', repeats });
    expect(given(created('validated'), approved).lastApproval?.repeats).toEqual([]);
  });

  it('§6.4 the reasons of a failure take the place of earlier ones, and those of a second webhook stand behind them', () => {
    const noted: OrderEvent = {
      type: 'OrderStatusChanged',
      data: { status: { from: 'submitted', to: 'submitted' }, errorReason: ['noted before'] },
    };
    const history = [created('validated'), approved, noted];
    for (const webhookId of ['a', 'b']) {
      const reasons = Array.from({ length: MAX_LIST_ENTRIES - 1 }, (_, n) => `${webhookId}${n}`);
      const failed = failExport(given(...history), { approvalEventId: 'event-1', reasons, webhookId, deliveryId: 'd' });
      if (failed.kind === 'accepted') history.push(...failed.events);
    }
    const reasons = given(...history).fields.error_reason as readonly string[];
    expect(reasons).toHaveLength(MAX_LIST_ENTRIES);
    expect([reasons[0], reasons.at(-1)]).toEqual(['a0', 'b0']);
    expect(given(...history).failed).toEqual({ approvalEventId: 'event-1', webhookIds: ['a', 'b'] });
  });

  it('an export in force is not the one of another approval, and a failed one not that of an order in export', () => {
    const again: OrderEvent = { ...approved, data: { ...approved.data, status: { from: 'saved', to: 'submitted' } } };
    const order = given(created('validated'), approved, approvedToSaved(), again);
    const failure = (approvalEventId: string) =>
      failExport(order, { approvalEventId, reasons: ['x'], webhookId: 'w', deliveryId: 'd' });
    expect(events(failure('event-1'))).toEqual([]);
    expect(events(failure('event-3'))).toHaveLength(1);
    const saved = given(created('validated'), approved, {
      type: 'OrderChanged',
      data: { changes: {}, status: { from: 'submitted', to: 'saved' } },
    });
    expect(saved).not.toHaveProperty('approval');
    expect(
      events(failExport(saved, { approvalEventId: 'event-1', reasons: [], webhookId: 'w', deliveryId: 'd' })),
    ).toEqual([]);
  });

  it('a log in which an order begins with anything but its creation is not read', () => {
    expect(() => given(approved)).toThrow('OrderApproved before OrderCreated.');
    const changed: OrderEvent = {
      type: 'OrderPartChanged',
      data: { table: 'dyn_order_line', id: LINE_ID, changes: {}, status: { from: 'saved', to: 'saved' } },
    };
    expect(() => given(created(), changed)).toThrow(`Part ${LINE_ID} changed before it was added.`);
  });

  it('an order that was rejected, submitted or completed cannot be rejected', () => {
    expect(rejectOrder(given(created('submitted')), [])).toMatchObject({ kind: 'conflict' });
    expect(rejectOrder(given(created('saved')), [])).toMatchObject({
      kind: 'invalid',
      errors: { reasons: [expect.any(String)] },
    });
    expect(events(rejectOrder(given(created('saved')), ['double']))).toMatchObject([
      { type: 'OrderRejected', data: { reasons: ['double'] } },
    ]);
  });
});

describe('what may be done with an order', () => {
  it.each([
    ['pending_validation', ['save', 'reject']],
    ['saved', ['save', 'reject']],
    ['validated', ['save', 'approve', 'reject']],
    ['submit_failed', ['save', 'reject']],
    ['failed', ['save', 'approve', 'reject']],
    ['rejected', ['save']],
    ['submitted', []],
    ['completed', []],
  ] as const)('%s: %j', (status, actions) => {
    expect(actionsOn(status)).toEqual(actions);
  });
});

describe('an order of thousands of lines', () => {
  const LINES = 20_000;
  const status = { from: 'saved', to: 'saved' } as const;
  const line = (index: number): OrderEvent => ({
    type: 'OrderPartAdded',
    data: { table: 'dyn_order_line', id: `line-${index}`, fields: { quantity: index }, status },
  });
  const evolved = (before: Order | undefined, events: readonly OrderEvent[], writable = copied): Order | undefined =>
    events.reduce<Order | undefined>(
      (order, event, index) => evolve(order, event, { id: `event-${index}`, at: `at ${index}` }, writable),
      before,
    );

  it('is evolved in a time that grows with its events, not with their square', () => {
    const history = [created('saved'), ...Array.from({ length: LINES }, (_, index) => line(index))];
    const before = cpuMs();
    expect(evolved(undefined, history, copiedOnce())?.parts.size).toBe(LINES);
    // With a copy of the lines for each event it takes minutes.
    expect(cpuMs() - before).toBeLessThan(5_000);
  });

  it('evolved at once is what it is event by event, and the order before stays as it was', () => {
    const changed: OrderEvent = {
      type: 'OrderPartChanged',
      data: { table: 'dyn_order_line', id: 'line-1', changes: { quantity: { from: 1, to: 5 } }, status },
    };
    const order = evolved(undefined, [created('saved'), line(0), line(1)], copiedOnce());
    const kept = structuredClone(order);
    const then = [changed, approved, line(2), changed];
    expect(evolved(order, then, copiedOnce())).toEqual(evolved(order, then));
    expect(order).toEqual(kept);
  });
});

describe('§2.3 the exported document', () => {
  it('is made of thousands of consignments in a time that grows with them, not with their square', () => {
    const record = (id: string, fields: object) => ({ id, created_at: 'c', updated_at: 'u', ...fields });
    const parts = Array.from({ length: 40_000 }, (_, n) => [
      { table: 'dyn_consignment', record: record(`c${n}`, { transport_order_id: ORDER_ID }) },
      { table: 'dyn_goods', record: record(`g${n}`, { consignment_id: `c${n}` }) },
    ]).flat();
    const table = 'dyn_transport_order';
    const full = { table, order: record(ORDER_ID, {}), parts, related: {} } as unknown as ExportSnapshot;
    const types = new Map(transportModel.map((type) => [type.name, type]));
    const before = cpuMs();
    const { consignments } = documentOf(full, { approvedAt: '2026-11-21T03:11:47.123456Z', approver }, types);
    expect(consignments).toHaveLength(40_000);
    expect((consignments as readonly unknown[]).at(-1)).toMatchObject({ id: 'c39999', goods: [{ id: 'g39999' }] });
    expect(cpuMs() - before).toBeLessThan(5_000);
  });

  it('has a largest size, which counts each occurrence of what is large', () => {
    const record = (id: string, fields: object = {}) => ({ id, created_at: '', updated_at: '', ...fields });
    const types = new Map(stockModel.map((type) => [type.name, type]));
    const document = (lines: number, item: object) => {
      const parts = Array.from({ length: lines }, (_, n) => ({
        table: 'dyn_order_line',
        record: record(`l${n}`, { order_id: ORDER_ID, item_id: 'i' }),
      }));
      const related = { dyn_item: { i: record('i', item) } };
      const full = { table: 'dyn_stock_order', order: record(ORDER_ID), parts, related } as unknown as ExportSnapshot;
      return () => documentOf(full, { approvedAt: '2026-11-21T03:11:47.123456Z', approver }, types);
    };
    const share = Math.floor(MAX_ORDER_DOCUMENT / 10);
    for (const large of [{ description: 'x'.repeat(share) }, { list: ['x'.repeat(share)] }]) {
      expect(document(9, large)).not.toThrow();
      expect(document(10, large)).toThrow(OrderDocumentTooLargeError);
    }
    const names = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [`${n}`.padEnd(100, 'x'), null]));
    expect(document(Math.floor(MAX_ORDER_DOCUMENT / 108_000) - 10, names)).not.toThrow();
    expect(document(Math.ceil(MAX_ORDER_DOCUMENT / 108_000) + 10, names)).toThrow(OrderDocumentTooLargeError);
  });

  it('expands parties, lines, items and unit codes, also under keys that objects have of their own', () => {
    const record = (fields: object) => ({ id: ORDER_ID, created_at: 'c', updated_at: 'u', ...fields });
    const full = {
      table: 'dyn_stock_order',
      order: record({ buyer_customer_party_id: '__proto__', accounting_customer_party_id: 'constructor' }),
      parts: [
        {
          table: 'dyn_order_line',
          record: { ...record({ order_id: ORDER_ID, item_id: 'i', unit_code_id: 'u' }), id: LINE_ID },
        },
      ],
      related: {
        dyn_party: JSON.parse('{"__proto__":{"id":"p","name":"Proto"}}'),
        dyn_item: { i: record({ name: 'Item', category_id: 'c1', category_name: 'Cat', base_unit_code_id: 'u' }) },
        dyn_unit_code: { u: record({ code: 'PCE' }) },
      },
    } as unknown as ExportSnapshot;
    const types = new Map(stockModel.map((type) => [type.name, type]));
    const document = documentOf(full, { approvedAt: '2026-11-21T03:11:47.123456Z', approver }, types);
    expect(document).toMatchObject({
      approved_at: '2026-11-21 03:11:47',
      approved_by: 7,
      approver,
      processing_status: 'submitted',
      buyer_customer_party: { name: 'Proto' },
      left_out: [{ field: 'accounting_customer_party', reason: expect.any(String) }],
      lines: [
        {
          id: LINE_ID,
          item: { name: 'Item', category: { id: 'c1', name: 'Cat' }, base_unit_code: { code: 'PCE' } },
          unit_code: { code: 'PCE' },
        },
      ],
    });
  });
});
