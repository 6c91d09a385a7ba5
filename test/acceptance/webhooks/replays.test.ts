/** Resend, backfill and test events, through the platform API; and what waits for a webhook that is disabled. */
import { setTimeout as wait } from 'node:timers/promises';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import {
  addWebhook,
  approve,
  approvedOrder,
  deliveriesEnded,
  parsed,
  reaches,
  validatedOrder,
  withWebhook,
} from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import { expectInvalid } from '../refusals.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });

/** What a request for a replay answers: 202 and this. */
async function accepted(path: string, body: unknown = {}): Promise<unknown> {
  const answer = await acme().platform('POST', path, { body });
  if (answer.status !== 202) throw new Error(`202 was expected, not ${answer.status}: ${answer.text}`);
  return Reflect.get(Object(answer.body), 'data');
}

const LONG_AGO = '2020-01-01T00:00:00Z';
const ANY_ID = expect.stringMatching(/^[0-9a-f-]{36}$/);
const orderIn = (call: Call | undefined): unknown =>
  Reflect.get(Object(Reflect.get(Object(parsed(call?.body)), 'validated_order')), 'id');

it('a delivery that is resent has the same bytes and the same webhook-id', async () => {
  await withWebhook(acme(), receiver, '/again', async ({ id }) => {
    const orderId = await approvedOrder(acme());
    const [first] = await receiver.received('/again', 1);
    const deliveryId = String(first?.headers['webhook-id']);
    const again = await accepted(`/webhooks/${id}/deliveries/${deliveryId}/resend`);
    expect(again).toEqual({ delivery_id: ANY_ID });
    expect(again).not.toEqual({ delivery_id: deliveryId });
    const [, second] = await receiver.received('/again', 2);
    expect(second?.body.equals(first?.body ?? Buffer.of())).toBe(true);
    expect(second?.headers).toMatchObject({ 'webhook-id': deliveryId, 'webhook-replay': 'resend' });
    expect(first?.headers).not.toHaveProperty('webhook-replay');
    const { delivery_id } = Object(again);
    await accepted(`/webhooks/${id}/deliveries/${String(delivery_id).toUpperCase()}/resend`);
    const [, , third] = await receiver.received('/again', 3);
    expect(third?.headers).toMatchObject({ 'webhook-id': deliveryId, 'webhook-replay': 'resend' });
    receiver.reply('/again', () => ({ status: 500 }));
    await accepted(`/webhooks/${id}/deliveries/${deliveryId}/resend`);
    expect(await deliveriesEnded(acme(), id, 4)).toMatchObject([{ state: 'failed' }, {}, {}, {}]);
    expect(await acme().get('dyn_stock_order', orderId)).toMatchObject({ processing_status: 'submitted' });
  });
});

/** The history is a projection of its own: it may be a moment behind the order. */
async function historyWith(orderId: string, event: string): Promise<unknown> {
  for (;;) {
    const history = await acme().platformData('GET', `/orders/${orderId}/history`);
    if (JSON.stringify(history).includes(`"event":"${event}"`)) return history;
    await wait(20);
  }
}

it('all that failed since a time is sent again, once; what has arrived since, or is approved again, is not', async () => {
  receiver.reply('/broken', (nth) => ({ status: nth <= 15 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/broken', async ({ id }) => {
    const orders: string[] = [];
    for (let n = 0; n < 3; n++) orders.push((await validatedOrder(acme())).order.id);
    for (const order of orders) {
      await approve(acme(), order);
      await reaches(acme(), order, 'failed');
    }
    const [waiting = '', resent = '', approved = ''] = orders;
    const failed = receiver.calls('/broken').find((call) => orderIn(call) === resent);
    await accepted(`/webhooks/${id}/deliveries/${failed?.headers['webhook-id']}/resend`);
    await approve(acme(), approved);
    for (const order of [resent, approved]) await reaches(acme(), order, 'submitted');
    const backfill = () => accepted(`/webhooks/${id}/backfill`, { from: LONG_AGO, failed_only: true });
    await backfill();
    expect(await reaches(acme(), waiting, 'submitted')).toMatchObject({ error_reason: null });
    expect(await historyWith(waiting, 'OrderExportDelivered')).toContainEqual(
      expect.objectContaining({ event: 'OrderExportDelivered', status_from: 'failed', status_to: 'submitted' }),
    );
    const [last] = (await receiver.received('/broken', 18)).slice(17);
    expect([orderIn(last), last?.headers['webhook-replay']]).toEqual([waiting, 'resend']);
    await backfill();
    await approvedOrder(acme());
    await receiver.received('/broken', 19);
    expect(await deliveriesEnded(acme(), id, 7)).toHaveLength(7);
  });
});

it('of what failed, a backfill leaves out what another replay has delivered', async () => {
  const events = ['order.created', 'order.updated'];
  await withWebhook(acme(), receiver, { path: '/replayed', events }, async ({ id }) => {
    receiver.reply('/replayed', (nth) => ({ status: nth <= 15 ? 500 : 200 }));
    const from = new Date().toISOString();
    await validatedOrder(acme());
    await deliveriesEnded(acme(), id, 2);
    await accepted(`/webhooks/${id}/backfill`, { from, events: ['order.created'] });
    const [replay] = await deliveriesEnded(acme(), id, 3);
    await accepted(`/webhooks/${id}/deliveries/${Object(replay).id}/resend`);
    await deliveriesEnded(acme(), id, 4);
    await accepted(`/webhooks/${id}/backfill`, { from, failed_only: true });
    await deliveriesEnded(acme(), id, 5);
    const last = receiver.calls('/replayed').slice(15);
    expect(last.map(({ headers }) => headers['webhook-event'])).toEqual(events);
  });
});

it('other events that failed are sent again in the sequence of their order, but no test', async () => {
  const events = ['order.created', 'order.updated', 'order.status_changed'];
  receiver.reply('/stubborn', () => ({ status: 500 }));
  await withWebhook(acme(), receiver, { path: '/stubborn', events }, async ({ id }) => {
    await validatedOrder(acme());
    await accepted(`/webhooks/${id}/test`, { event: 'order.approved' });
    await deliveriesEnded(acme(), id, 4);
    receiver.reply('/stubborn', () => ({ status: 200 }));
    await accepted(`/webhooks/${id}/backfill`, { from: LONG_AGO, failed_only: true });
    await deliveriesEnded(acme(), id, 7);
    const last = receiver.calls('/stubborn').slice(-3);
    expect(last.map(({ headers }) => headers['webhook-event'])).toEqual(events);
  });
});

it('a backfill sends a range of the log to a webhook made afterwards; what belongs to one order keeps its sequence', async () => {
  const from = new Date().toISOString();
  const orderId = await approvedOrder(acme());
  await withWebhook(acme(), receiver, '/late', async ({ id }) => {
    const events = ['order.created', 'order.updated', 'order.status_changed', 'order.approved'];
    expect(await accepted(`/webhooks/${id}/backfill`, { from, events })).toEqual({ backfill_id: ANY_ID });
    const calls = await receiver.received('/late', 5);
    expect(calls.map((call) => call.headers['webhook-event'])).toEqual([
      'order.created',
      'order.updated',
      'order.status_changed',
      'order.status_changed',
      'order.approved',
    ]);
    expect(calls.map(orderIn)).toEqual(calls.map(() => orderId));
    for (const { headers } of calls) expect(headers).toMatchObject({ 'webhook-replay': 'backfill' });
    // Under the ids of before.
    await accepted(`/webhooks/${id}/backfill`, { from, events });
    const again = (await receiver.received('/late', 10)).slice(5);
    const idsOf = (some: readonly Call[]) => some.map(({ headers }) => headers['webhook-id']);
    expect(idsOf(again)).toEqual(idsOf(calls));
  });
});

it('a test event is sent at once, whatever the webhook subscribes to', async () => {
  await withWebhook(acme(), receiver, '/trial', async ({ id }) => {
    expect(await accepted(`/webhooks/${id}/test`, { event: 'reference.cleaned_up' })).toEqual({ delivery_id: ANY_ID });
    const [call] = await receiver.received('/trial', 1);
    expect(call?.headers).toMatchObject({ 'webhook-event': 'reference.cleaned_up', 'webhook-replay': 'test' });
    expect(parsed(call?.body)).toMatchObject({ type: 'reference.cleaned_up', data: {} });
  });
});

it('a disabled webhook loses nothing: enabled again, however often, it gets what has waited, once', async () => {
  await withWebhook(acme(), receiver, '/paused', async ({ id }) => {
    const enable = (enabled: boolean) => acme().platformData('PUT', `/webhooks/${id}`, { enabled });
    await enable(false);
    const orderId = await approvedOrder(acme());
    await accepted(`/webhooks/${id}/test`, { event: 'order.approved' });
    expect(receiver.calls('/paused')).toHaveLength(0);
    for (let n = 0; n < 5; n++) {
      await enable(true);
      await enable(false);
    }
    await enable(true);
    await deliveriesEnded(acme(), id, 2);
    const calls = receiver.calls('/paused');
    expect(calls.map(orderIn)).toContain(orderId);
    expect(calls).toHaveLength(2);
  });
});

it('§6.4: an order that waits between attempts when its webhook is disabled is open until it is enabled', async () => {
  receiver.reply('/waits', () => ({ status: 500, headers: { 'Retry-After': '1' } }));
  await withWebhook(acme(), receiver, '/waits', async ({ id }) => {
    const orderId = await approvedOrder(acme());
    await receiver.received('/waits', 1);
    await acme().platformData('PUT', `/webhooks/${id}`, { enabled: false });
    const { body } = await acme().platform('GET', `/webhooks/${id}/deliveries`, { query: { order_id: orderId } });
    expect(body).toMatchObject({ data: [{ state: 'open', reason: 'The webhook is disabled: Disabled by an admin.' }] });

    receiver.reply('/waits', () => ({ status: 200 }));
    await acme().platformData('PUT', `/webhooks/${id}`, { enabled: true });
    await receiver.received('/waits', 2);
  });
});

let nobody: string | undefined;
itOfRequests.each([
  ['backfill', { from: '2999-01-01T00:00:00Z' }, 'from'],
  ['backfill', { from: LONG_AGO, events: ['order.eaten'] }, 'events.0'],
  ['backfill', [], 'body'],
  ['test', { event: 'order.eaten' }, 'event'],
])('§7: %s with %j is 422 for %s', async (path, body, field) => {
  nobody ??= (await addWebhook(acme(), receiver.url('/nobody'))).id;
  const id = nobody;
  await expectInvalid(service(), [field], () => acme().platform('POST', `/webhooks/${id}/${path}`, { body }));
});
