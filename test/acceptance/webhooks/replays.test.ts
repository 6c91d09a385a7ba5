/** Resend, backfill and test events, through the platform API. */

import { setTimeout as wait } from 'node:timers/promises';
import { itOfRequests } from '../../onProductionEngines/repetition.js';
import { addWebhook, approve, parsed, reaches, validatedOrder, withWebhook } from '../export.js';
import { type Call, Receiver } from '../receiver.js';
import { expectInvalid, expectRefused } from '../refusals.js';
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

it('a disabled webhook loses nothing: enabled again, it gets what has waited', async () => {
  await withWebhook(acme(), receiver, '/paused', async ({ id }) => {
    await acme().platformData('POST', `/webhooks/${id}/disable`, {});
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    await accepted(`/webhooks/${id}/test`, { event: 'order.approved' });
    expect(receiver.calls('/paused')).toHaveLength(0);
    await acme().platformData('POST', `/webhooks/${id}/enable`, {});
    const calls = await receiver.received('/paused', 2);
    expect(calls.map(orderIn)).toContain(order.id);
  });
});

it('§6: replays are for admins, of webhooks and deliveries that are theirs', async () => {
  const { id } = await addWebhook(acme(), receiver.url('/nobody'));
  const foreign = await addWebhook(run.tenant('other'), receiver.url('/nobody'));
  const requests: readonly (readonly [string, unknown])[] = [
    ['resend', { since: LONG_AGO }],
    ['backfill', { from: LONG_AGO }],
    ['test', { event: 'order.approved' }],
    ['deliveries/01a1feb1-0000-7000-8000-00000000000a/resend', {}],
  ];
  const people = [await acme().addPerson('validator'), await acme().addPerson('auditor')];
  for (const [path, body] of requests) {
    for (const token of people) {
      await expectRefused(run.service, 403, () => acme().platform('POST', `/webhooks/${id}/${path}`, { body, token }));
    }
    const client = await acme().token();
    const send = (webhook: string, token?: string) =>
      acme().platform('POST', `/webhooks/${webhook}/${path}`, token === undefined ? { body } : { body, token });
    await expectRefused(run.service, 401, () => send(id, client));
    await expectRefused(run.service, 404, () => send(foreign.id));
    await expectRefused(run.service, 405, () => acme().platform('PUT', `/webhooks/${id}/${path}`, { body }));
  }
  for (const delivery of ['01a1feb1-0000-7000-8000-00000000000a', 'x', '%2e%2e']) {
    await expectRefused(run.service, 404, () =>
      acme().platform('POST', `/webhooks/${id}/deliveries/${delivery}/resend`, { body: {} }),
    );
  }
});

itOfRequests.each([
  ['resend', {}, 'since'],
  ['resend', { since: 'yesterday' }, 'since'],
  ['backfill', { from: '2999-01-01T00:00:00Z' }, 'from'],
  ['backfill', { from: LONG_AGO, to: '2019-01-01T00:00:00Z' }, 'from'],
  ['backfill', { from: LONG_AGO, to: '2999-01-01T00:00:00Z' }, 'to'],
  ['backfill', { from: LONG_AGO, events: ['order.eaten'] }, 'events.0'],
  ['test', { event: 'order.eaten' }, 'event'],
])('§7: %s with %j is 422 for %s', async (path, body, field) => {
  const { id } = await addWebhook(acme(), receiver.url('/nobody'));
  await expectInvalid(run.service, [field], () => acme().platform('POST', `/webhooks/${id}/${path}`, { body }));
});
