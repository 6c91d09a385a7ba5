/** How an approved order is delivered, and what becomes of one that cannot be (spec §3, §6, §8). */
import { createHmac } from 'node:crypto';
import {
  addWebhook,
  approve,
  approvedOrder,
  deliveriesEnded,
  reaches,
  validatedOrder,
  withWebhook,
} from '../export.js';
import { Receiver, type Write } from '../receiver.js';
import type { Fields } from '../tenant.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const { acme, service } = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });

const hmac = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex');
const bytes =
  (text: string): Write =>
  (_response, socket) =>
    void socket.end(text);

const orderOf = (id: string) => acme().get('dyn_stock_order', id);

it('§6.3: Signature is the hex HMAC-SHA256 of the body with the secret; the body is JSON', async () => {
  await withWebhook(acme(), receiver, '/signed', async ({ secret }) => {
    await approvedOrder(acme());
    const [first] = await receiver.received('/signed', 1);
    expect(first).toMatchObject({
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        signature: hmac(first?.body ?? Buffer.of(), secret),
        'user-agent': expect.stringMatching(/^dynamic-assets\/\d/),
        'webhook-id': expect.stringMatching(/^[0-9a-f-]{36}$/),
        'webhook-event': 'order.approved',
        'webhook-event-version': '2',
        'webhook-sequence': expect.stringMatching(/^\d+$/),
        'webhook-timestamp': expect.stringMatching(/^\d{10}$/),
        'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
      },
    });
    expect(first?.headers).not.toHaveProperty('webhook-replay');
  });
});

it('§6.4: a delivery that fails is attempted again, with the same bytes, until it succeeds; each attempt is logged', async () => {
  receiver.reply('/third?key=hidden', (nth) =>
    nth < 3 ? { status: 500 } : bytes('HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok'),
  );
  await withWebhook(acme(), receiver, '/third?key=hidden', async ({ id, secret }) => {
    const orderId = await approvedOrder(acme());
    const [delivery] = await deliveriesEnded(acme(), id, 1);
    expect(delivery).toMatchObject({ state: 'succeeded', attempts: [{}, {}, { status: 200 }] });
    const calls = receiver.calls('/third?key=hidden');
    expect(calls).toHaveLength(3);
    for (const { body, headers } of calls) {
      expect(body.equals(calls[0]?.body ?? Buffer.of())).toBe(true);
      expect(headers.signature).toBe(hmac(body, secret));
      expect(headers['webhook-id']).toBe(delivery?.id);
    }
    expect(await orderOf(orderId)).toMatchObject({ processing_status: 'submitted' });
    const logged = service()
      .log.split('\n')
      .filter((line) => line.includes(id));
    const about = { tenant: acme().name, orderId, deliveryId: delivery?.id, host: `127.0.0.1:${receiver.port}` };
    expect(logged.map((line) => JSON.parse(line))).toMatchObject(
      [1, 2].map((attempt) => ({ ...about, msg: 'webhook attempt', level: 40, attempt, ok: false, status: 500 })),
    );
    for (const hidden of ['third', 'hidden', secret]) expect(logged.join()).not.toContain(hidden);
  });
});

it('§3, §6.4, §8: after the 5th failed attempt, however each failed, the order is failed, with the reasons, among the orders to validate', async () => {
  const failures = [
    { status: 302, headers: { location: receiver.url('/elsewhere') } },
    { status: 404 },
    undefined,
    bytes('HTTP/1.1 099 Odd\r\nContent-Length: 0\r\n\r\n'),
    { status: 503 },
  ];
  receiver.reply('/never', (nth) => failures[nth - 1]);
  await withWebhook(acme(), receiver, { path: '/never', name: 'ERP' }, async ({ id }) => {
    const orderId = await approvedOrder(acme());
    const { error_reason } = await reaches(acme(), orderId, 'failed');
    expect(error_reason).toEqual([
      'All 5 attempts to deliver to webhook ERP failed.',
      'Attempt 1: redirect (HTTP 302) is not followed',
      'Attempt 2: HTTP 404',
      'Attempt 3: no answer within 3000 ms',
      'Attempt 4: HTTP 99',
      'Attempt 5: HTTP 503',
    ]);
    const shown = await acme().platform('GET', `/orders/${orderId}`);
    expect(shown.body).toMatchObject({ data: { processing_status: 'failed', error_reason } });
    const failed = { query: { 'filter[processing_status]': 'failed' } };
    expect((await acme().platform('GET', '/orders', failed)).text).toContain(orderId);
    expect(await deliveriesEnded(acme(), id, 1)).toMatchObject([{ state: 'failed' }]);
    expect(receiver.calls('/never')).toHaveLength(5);
    expect(receiver.calls('/elsewhere')).toHaveLength(0);
  });
});

it('decision: another approval, or any status change, leaves failed', async () => {
  receiver.reply('/later', (nth) => ({ status: nth <= 5 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/later', async ({ id }) => {
    const orderId = await approvedOrder(acme());
    await reaches(acme(), orderId, 'failed');
    await approve(acme(), orderId);
    expect(await deliveriesEnded(acme(), id, 2)).toMatchObject([{ state: 'succeeded' }, { state: 'failed' }]);
    expect(receiver.calls('/later')).toHaveLength(6);
    expect(await orderOf(orderId)).toMatchObject({ processing_status: 'submitted', error_reason: null });
  });
  receiver.reply('/gone', () => ({ status: 404 }));
  await withWebhook(acme(), receiver, '/gone', async () => {
    const orderId = await approvedOrder(acme());
    await reaches(acme(), orderId, 'failed');
    const reported: Fields = { processing_status: 'completed' };
    expect(await acme().update('dyn_stock_order', orderId, reported)).toMatchObject({ error_reason: null });
  });
});

it('§3: an order that is reported completed before the last attempt fails stays completed', async () => {
  receiver.reply('/late', (nth) => ({ status: 500, headers: nth === 1 ? { 'retry-after': '1' } : {} }));
  await withWebhook(acme(), receiver, '/late', async ({ id }) => {
    const orderId = await approvedOrder(acme());
    await receiver.received('/late', 1);
    await acme().update('dyn_stock_order', orderId, { processing_status: 'completed' });
    expect(await deliveriesEnded(acme(), id, 1)).toMatchObject([{ state: 'failed', attempts: Array(5).fill({}) }]);
    expect(await orderOf(orderId)).toMatchObject({ processing_status: 'completed', error_reason: null });
  });
});

it('§6.4: Retry-After is obeyed; a webhook that is removed meanwhile gets no further call, and the order stays', async () => {
  receiver.reply('/left', () => ({ status: 500, headers: { 'retry-after': '3' } }));
  const { id } = await addWebhook(acme(), receiver.url('/left'));
  const orderId = await approvedOrder(acme());
  await receiver.received('/left', 1);
  await acme().platform('DELETE', `/webhooks/${id}`);
  expect(await deliveriesEnded(acme(), id, 1)).toMatchObject([{ state: 'failed', reason: 'webhook removed' }]);
  expect(receiver.calls('/left')).toHaveLength(1);
  expect(await orderOf(orderId)).toMatchObject({ processing_status: 'submitted' });
});

it('decision: each of several webhooks gets the order, and one that hard-fails puts it to failed', async () => {
  receiver.reply('/bad', () => ({ status: 500 }));
  await withWebhook(acme(), receiver, '/good', async (good) => {
    await withWebhook(acme(), receiver, '/bad', async (bad) => {
      await reaches(acme(), await approvedOrder(acme()), 'failed');
      const [call] = await receiver.received('/good', 1);
      expect(receiver.calls('/good')).toHaveLength(1);
      expect(receiver.calls('/bad')).toHaveLength(5);
      expect(call?.headers.signature).toBe(hmac(call?.body ?? Buffer.of(), good.secret));
      expect(call?.headers.signature).not.toBe(hmac(call?.body ?? Buffer.of(), bad.secret));
    });
  });
});

it('§6.4: a receiver that does not answer delays no other: all that another one gets arrives while its own are open', async () => {
  receiver.reply('/slow', () => undefined);
  await withWebhook(acme(), receiver, '/slow', async (slow) => {
    await withWebhook(acme(), receiver, '/quick', async () => {
      const orders = 3;
      for (let n = 0; n < orders; n++) await approvedOrder(acme());
      await receiver.received('/quick', orders);
      expect(receiver.calls('/slow').length).toBeGreaterThan(0);
      // The newest: on a busy machine the first may have used all of its attempts.
      const [newest] = await deliveriesEnded(acme(), slow.id, 0);
      expect(newest?.state).toBe('open');
    });
  });
});

it('§3: of several approvals at once one wins, and one delivery is made', async () => {
  await withWebhook(acme(), receiver, '/once', async ({ id }) => {
    const { order } = await validatedOrder(acme());
    await Promise.all(
      Array.from({ length: 6 }, () => acme().platform('POST', `/orders/${order.id}/approve`, { body: {} })),
    );
    // What comes behind them tells that there is nothing between.
    await approvedOrder(acme());
    expect(await deliveriesEnded(acme(), id, 2)).toHaveLength(2);
    expect(receiver.calls('/once')).toHaveLength(2);
  });
});
