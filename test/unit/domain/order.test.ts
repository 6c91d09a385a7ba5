/** Which state an order leaves by which action, and what becomes of its export as failures, resends and changes come in any order. */
import { MAX_LIST_ENTRIES } from '#app/domain/limits.js';
import { actionsOn, approveOrder, endExport, type OrderDecision, rejectOrder } from '#app/domain/order/decide.js';
import type { ExportSnapshot, OrderEvent } from '#app/domain/order/events.js';
import { evolve, type Order } from '#app/domain/order/order.js';

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

const created = (status: Order['status'] = 'pending_validation'): OrderEvent => ({
  type: 'OrderCreated',
  data: { table: 'dyn_stock_order', fields: { customer_reference: 'PO 1' }, status },
});
const statusChanged = (
  from: Order['status'],
  to: Order['status'],
  errorReason: readonly string[] | null = null,
): OrderEvent => ({ type: 'OrderEdited', data: { status: { from, to }, errorReason } });
const approved: OrderEvent = {
  type: 'OrderApproved',
  data: { status: { from: 'validated', to: 'submitted' }, approvedAt: THEN, approver, snapshot },
};
const inExport = [created('validated'), approved];

const events = (decision: OrderDecision) => (decision.kind === 'accepted' ? decision.events : decision);
const accepted = (decision: OrderDecision): readonly OrderEvent[] =>
  decision.kind === 'accepted' ? decision.events : [];

describe('§3 approval', () => {
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
    const decision = approveOrder(given(created(status)), { approvedAt: 'at', approver }, snapshot, new Map(), 'why');
    expect(decision).toMatchObject(
      actions.some((action) => action === 'approve')
        ? { events: [{ type: 'OrderApproved', data: { status: { from: status, to: 'submitted' } } }] }
        : { kind: 'conflict', message: expect.stringContaining(status) },
    );
    const canReject = actions.some((action) => action === 'reject');
    expect(rejectOrder(given(created(status)), ['double']).kind).toBe(canReject ? 'accepted' : 'conflict');
  });
});

describe('§6.4 an export', () => {
  const failed = (order: Order, id = 'w', approval = 'event-1', reasons: readonly string[] = [`${id}: HTTP 500`]) =>
    endExport(order, approval, { webhookId: id, deliveryId: `d-${id}` }, reasons);

  const saved: OrderEvent = { type: 'OrderEdited', data: { changes: {}, status: { from: 'submitted', to: 'saved' } } };
  const again: OrderEvent = { ...approved, data: { ...approved.data, status: { from: 'saved', to: 'submitted' } } };
  test.each<[string, readonly OrderEvent[], string, number]>([
    ['of another approval', inExport, 'another', 0],
    ['of an order that was completed', [...inExport, statusChanged('submitted', 'completed')], 'event-1', 0],
    ['of an order that was changed', [...inExport, saved], 'event-1', 0],
    ['of the approval before', [...inExport, saved, again], 'event-1', 0],
    ['of the last of two approvals', [...inExport, saved, again], 'event-3', 1],
  ])('%s: a failure of it is one of the order', (_what, history, approval, count) => {
    expect(events(failed(given(...history), 'w', approval))).toHaveLength(count);
  });

  test('that was sent again brings the order back when no webhook lacks it any more', () => {
    const history: OrderEvent[] = [...inExport];
    const happens = (decide: (order: Order) => OrderDecision): readonly OrderEvent[] => {
      const more = accepted(decide(given(...history)));
      history.push(...more);
      return more;
    };
    const deliver = (webhookId: string, approvalEventId = 'event-1') =>
      happens((order) => endExport(order, approvalEventId, { webhookId, deliveryId: 'r' }));
    const fail = (webhookId: string) => happens((order) => failed(order, webhookId));
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
      history.push(...accepted(failed(given(...history), webhookId, 'event-1', reasons)));
    }
    const reasons = given(...history).fields.error_reason as readonly string[];
    expect([reasons.length, reasons[0], reasons.at(-1)]).toEqual([MAX_LIST_ENTRIES, 'a0', 'b0']);
    expect(given(...history)).toMatchObject({ approval: 'event-1', lackedBy: ['a', 'b'] });
  });
});
