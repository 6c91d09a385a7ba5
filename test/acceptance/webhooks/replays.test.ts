/** Resend, backfill and test events, through the platform API. */

import { setTimeout as wait } from 'node:timers/promises';
import { z } from 'zod';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { addWebhook, approve, deliveriesEnded, parsed, reaches, validatedOrder, withWebhook } from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import { expectInvalid } from '../refusals.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order', other: 'dyn_stock_order' } });
const acme = () => run.tenant('acme');

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
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
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
    expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({ processing_status: 'submitted' });
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

it('all that failed since a time is resent; orders whose export had failed are submitted again', async () => {
  receiver.reply('/broken', (nth) => ({ status: nth <= 10 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/broken', async ({ id }) => {
    const orders = [await validatedOrder(acme()), await validatedOrder(acme())].map(({ order }) => order.id);
    for (const order of orders) await approve(acme(), order);
    for (const order of orders) await reaches(acme(), order, 'failed');
    const shown = await acme().platformData('GET', `/webhooks/${id}/deliveries?state=failed`);
    expect(shown).toHaveLength(2);
    expect(await accepted(`/webhooks/${id}/resend?dry_run=true`, { since: LONG_AGO })).toEqual({ count: 2 });
    expect(await accepted(`/webhooks/${id}/resend`, { since: LONG_AGO })).toEqual({ count: 2 });
    const calls = await receiver.received('/broken', 12);
    expect(new Set(calls.slice(10).map(orderIn))).toEqual(new Set(orders));
    for (const order of orders) {
      expect(await reaches(acme(), order, 'submitted')).toMatchObject({ error_reason: null });
      expect(await historyWith(order, 'OrderExportDelivered')).toContainEqual(
        expect.objectContaining({ event: 'OrderExportDelivered', status_from: 'failed', status_to: 'submitted' }),
      );
    }
    expect(await accepted(`/webhooks/${id}/resend`, { since: LONG_AGO })).toEqual({ count: 0 });
  });
});

it('what has arrived since, or is approved again, is not among what is resent', async () => {
  receiver.reply('/overtaken', (nth) => ({ status: nth <= 15 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/overtaken', async ({ id }) => {
    const [one, other] = [(await validatedOrder(acme())).order.id, (await validatedOrder(acme())).order.id];
    for (const order of [one, other]) {
      await approve(acme(), order);
      await reaches(acme(), order, 'failed');
    }
    const [first] = receiver.calls('/overtaken');
    const resend = `/webhooks/${id}/deliveries/${first?.headers['webhook-id']}/resend`;
    await accepted(resend);
    await receiver.received('/overtaken', 15);
    await accepted(resend);
    await approve(acme(), other);
    for (const order of [one, other]) await reaches(acme(), order, 'submitted');
    for (const dryRun of [true, false]) {
      expect(await accepted(`/webhooks/${id}/resend?dry_run=${dryRun}`, { since: LONG_AGO })).toEqual({ count: 0 });
    }
  });
});

it('what failed is sent again in the sequence of its order, but no test, and nothing twice unless that failed as well', async () => {
  const events = ['order.created', 'order.updated', 'order.status_changed'];
  receiver.reply('/stubborn', () => ({ status: 500 }));
  await withWebhook(
    acme(),
    receiver,
    '/stubborn',
    async ({ id }) => {
      const resend = (range: object) => accepted(`/webhooks/${id}/resend`, range);
      await validatedOrder(acme());
      const [, second] = await deliveriesEnded(acme(), id, 3);
      await accepted(`/webhooks/${id}/test`, { event: 'order.approved' });
      await deliveriesEnded(acme(), id, 4);
      const border = second?.requested_at;
      // What is sent again may fail before the next question.
      const until = new Date().toISOString();
      expect(await resend({ since: LONG_AGO, until: border })).toEqual({ count: 1 });
      expect(await resend({ since: border, until })).toEqual({ count: 2 });
      await deliveriesEnded(acme(), id, 7);
      receiver.reply('/stubborn', () => ({ status: 200 }));
      expect(await resend({ since: LONG_AGO })).toEqual({ count: 3 });
      await deliveriesEnded(acme(), id, 10);
      const last = receiver.calls('/stubborn').slice(-3);
      expect(last.map(({ headers }) => headers['webhook-event'])).toEqual(events);
    },
    { events },
  );
});

const occurred = z.array(z.looseObject({ occurred_at: z.string() }));

it('a backfill sends a range of the log to a webhook made afterwards; what belongs to one order keeps its sequence', async () => {
  const from = new Date().toISOString();
  const { order } = await validatedOrder(acme());
  await approve(acme(), order.id);
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
    expect(calls.map(orderIn)).toEqual(calls.map(() => order.id));
    for (const { headers } of calls) expect(headers).toMatchObject({ 'webhook-replay': 'backfill' });
    // From inclusive, to exclusive; under the ids of before.
    const history = occurred.parse(await acme().platformData('GET', `/orders/${order.id}/history`));
    const range = { from: history[0]?.occurred_at, to: history.at(-1)?.occurred_at };
    await accepted(`/webhooks/${id}/backfill`, { ...range, events });
    const again = (await receiver.received('/late', 8)).slice(5);
    const idsOf = (some: readonly Call[]) => some.map(({ headers }) => headers['webhook-id']);
    expect(idsOf(again)).toEqual(idsOf(calls.slice(0, 3)));
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
    const command = (name: string) => acme().platformData('POST', `/webhooks/${id}/${name}`, {});
    await command('disable');
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    await accepted(`/webhooks/${id}/test`, { event: 'order.approved' });
    expect(receiver.calls('/paused')).toHaveLength(0);
    for (let n = 0; n < 5; n++) {
      await command('enable');
      await command('disable');
    }
    await command('enable');
    await deliveriesEnded(acme(), id, 2);
    const calls = receiver.calls('/paused');
    expect(calls.map(orderIn)).toContain(order.id);
    expect(calls).toHaveLength(2);
  });
});

let nobody: string | undefined;
itOfRequests.each([
  ['resend', {}, 'since'],
  ['resend', { since: '2999-01-01T00:00:00Z' }, 'since'],
  ['resend', { since: LONG_AGO, until: '2019-01-01T00:00:00Z' }, 'since'],
  ['backfill', { from: LONG_AGO, to: LONG_AGO }, 'from'],
  ['backfill', { from: LONG_AGO, events: ['order.eaten'] }, 'events.0'],
  ['backfill', [], 'body'],
  ['test', { event: 'order.eaten' }, 'event'],
])('§7: %s with %j is 422 for %s', async (path, body, field) => {
  nobody ??= (await addWebhook(acme(), receiver.url('/nobody'))).id;
  const id = nobody;
  await expectInvalid(run.service, [field], () => acme().platform('POST', `/webhooks/${id}/${path}`, { body }));
});
