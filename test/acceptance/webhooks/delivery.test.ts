/** How an approved order is delivered, and what becomes of one that cannot be (spec §3, §6, §8). */
import { createHmac } from 'node:crypto';
import { setTimeout as wait } from 'node:timers/promises';
import { addWebhook, approve, parsed, reaches, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { useService } from '../useService.js';

const receiver = Receiver.ofTests();
const run = useService({ tenants: { acme: 'dyn_stock_order', hauler: 'dyn_transport_order' } });
const acme = () => run.tenant('acme');

const hmac = (body: Buffer, secret: string) => createHmac('sha256', secret).update(body).digest('hex');
/** Longer than all waits between attempts together. */
const AFTER_ALL_ATTEMPTS_MS = 400;

it('§6.3: Signature is the hex HMAC-SHA256 of the body with the secret; the body is JSON', async () => {
  await withWebhook(acme(), receiver, '/signed', async ({ id, secret }) => {
    const one = await validatedOrder(acme());
    await approve(acme(), one.order.id);
    const [first] = await receiver.received('/signed', 1);
    expect(first).toMatchObject({
      method: 'POST',
      headers: { 'content-type': 'application/json', signature: hmac(first?.body ?? Buffer.of(), secret) },
    });

    const answer = await acme().platformData('POST', `/webhooks/${id}/secret`, {});
    const renewed = String(Reflect.get(Object(answer), 'secret'));
    expect(renewed).not.toBe(secret);
    const two = await validatedOrder(acme());
    await approve(acme(), two.order.id);
    const [, second] = await receiver.received('/signed', 2);
    expect(second?.headers.signature).toBe(hmac(second?.body ?? Buffer.of(), renewed));
  });
});

it('§3: the integration reports completed after it received the order', async () => {
  await withWebhook(acme(), receiver, '/completed', async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    const [call] = await receiver.received('/completed', 1);
    const { id } = Object(Reflect.get(Object(parsed(call?.body)), 'validated_order'));
    await acme().update('dyn_stock_order', String(id), { processing_status: 'completed' });
    expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({ processing_status: 'completed' });
  });
});

it('§6.4: a delivery that fails is attempted again, with the same bytes, until it succeeds', async () => {
  receiver.reply('/third', (nth) => ({ status: nth < 3 ? 500 : 204 }));
  await withWebhook(acme(), receiver, '/third', async ({ secret }) => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    const calls = await receiver.received('/third', 3);
    for (const { body, headers } of calls) {
      expect(body.equals(calls[0]?.body ?? Buffer.of())).toBe(true);
      expect(headers.signature).toBe(hmac(body, secret));
    }
    await wait(AFTER_ALL_ATTEMPTS_MS);
    expect(receiver.calls('/third')).toHaveLength(3);
    expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({ processing_status: 'submitted' });
  });
});

it('§3, §6.4, §8: after the 5th failed attempt the order is failed, with its reason, among the orders to validate', async () => {
  receiver.reply('/never', () => ({ status: 503 }));
  await withWebhook(acme(), receiver, '/never', async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    const failed = await reaches(acme(), order.id, 'failed');
    expect(receiver.calls('/never')).toHaveLength(5);
    expect(JSON.stringify(failed.error_reason)).toMatch(/503/);
    const shown = await acme().platform('GET', `/orders/${order.id}`);
    expect(shown.body).toMatchObject({ data: { processing_status: 'failed', error_reason: failed.error_reason } });
    expect((await acme().platform('GET', '/orders', { query: { queue: 'to_validate' } })).text).toContain(order.id);
    expect((await acme().platform('GET', '/orders', { query: { queue: 'archive' } })).text).not.toContain(order.id);
    await wait(AFTER_ALL_ATTEMPTS_MS);
    expect(receiver.calls('/never')).toHaveLength(5);
  });
});

it('decision: another approval, or any status change, leaves failed', async () => {
  receiver.reply('/later', (nth) => ({ status: nth <= 5 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/later', async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    await reaches(acme(), order.id, 'failed');
    await approve(acme(), order.id);
    await receiver.received('/later', 6);
    expect(await acme().get('dyn_stock_order', order.id)).toMatchObject({
      processing_status: 'submitted',
      error_reason: null,
    });
    await wait(AFTER_ALL_ATTEMPTS_MS);
    expect(receiver.calls('/later')).toHaveLength(6);
  });
  receiver.reply('/gone', () => ({ status: 404 }));
  await withWebhook(acme(), receiver, '/gone', async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    await reaches(acme(), order.id, 'failed');
    expect(await acme().update('dyn_stock_order', order.id, { processing_status: 'completed' })).toMatchObject({
      error_reason: null,
    });
  });
});

it.each([
  ['a redirect', () => ({ status: 302, headers: { location: receiver.url('/elsewhere') } })],
  ['a client error', () => ({ status: 404 })],
  ['no answer in time', () => undefined],
])('§6.4: %s is a failed attempt', async (what, reply) => {
  const path = `/failing/${what.replaceAll(' ', '-')}`;
  receiver.reply(path, reply);
  await withWebhook(acme(), receiver, path, async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    await reaches(acme(), order.id, 'failed');
    expect(receiver.calls(path)).toHaveLength(5);
    expect(receiver.calls('/elsewhere')).toHaveLength(0);
  });
});

it('approving again warns where an earlier export may have arrived, and the webhook-id names that one', async () => {
  // What a gateway says that does not know what became of the request; then refusals, and success in the end.
  receiver.reply('/perhaps', (nth) => ({ status: nth === 1 ? 504 : nth <= 10 ? 500 : 200 }));
  await withWebhook(acme(), receiver, '/perhaps', async ({ id }) => {
    const [doubtful, refused] = [await validatedOrder(acme()), await validatedOrder(acme())].map(
      ({ order }) => order.id,
    );
    for (const order of [doubtful, refused]) {
      await approve(acme(), String(order));
      await reaches(acme(), String(order), 'failed');
    }
    const [first] = receiver.calls('/perhaps');
    const warning = {
      code: 'may_be_duplicate',
      webhook_id: id,
      delivery_id: first?.headers['webhook-id'],
      message: expect.any(String),
    };
    expect(await acme().platformData('POST', '/orders/approve', { ids: [doubtful, refused] })).toEqual([
      { id: doubtful, status: 200, warnings: [warning] },
      { id: refused, status: 200 },
    ]);
    const again = (await receiver.received('/perhaps', 12)).slice(10);
    const idOf = (order: unknown) => {
      const call = again.find(({ body }) => body.includes(`"id":"${order}"`));
      return String(call?.headers['webhook-id']);
    };
    expect(idOf(doubtful)).toMatch(/^[0-9a-f-]{36}_repeats_[0-9a-f-]{36}$/);
    expect(idOf(doubtful).split('_repeats_')[1]).toBe(warning.delivery_id);
    expect(idOf(refused)).toMatch(/^[0-9a-f-]{36}$/);
    const history = await acme().platformData('GET', `/orders/${doubtful}/history`);
    expect(history).toContainEqual(expect.objectContaining({ event: 'OrderApproved', warnings: [warning] }));

    // That one has arrived: refused afterwards, it is sent a second time for certain.
    await acme().update('dyn_stock_order', String(refused), { processing_status: 'submit_failed' });
    await acme().update('dyn_stock_order', String(refused), { processing_status: 'validated' });
    const third = await acme().platform('POST', `/orders/${refused}/approve`, { body: {} });
    expect(third.body).toMatchObject({ warnings: [{ ...warning, delivery_id: idOf(refused) }] });
    const [resend] = (await receiver.received('/perhaps', 13)).slice(12);
    expect(resend?.headers['webhook-id']).toMatch(new RegExp(`_repeats_${idOf(refused)}$`));
  });
});

it('§6.2: a receiver whose certificate nobody vouches for gets nothing', async () => {
  const stranger = await Receiver.start('other');
  await withWebhook(acme(), stranger, '/stranger', async () => {
    const { order } = await validatedOrder(acme());
    await approve(acme(), order.id);
    expect(JSON.stringify((await reaches(acme(), order.id, 'failed')).error_reason)).toMatch(/certificate/i);
    expect(stranger.calls('/stranger')).toHaveLength(0);
  });
  await stranger.stop();
});

it('decision: each of several webhooks gets the order, and one that hard-fails puts it to failed', async () => {
  receiver.reply('/bad', () => ({ status: 500 }));
  await withWebhook(acme(), receiver, '/good', async (good) => {
    await withWebhook(acme(), receiver, '/bad', async (bad) => {
      const { order } = await validatedOrder(acme());
      await approve(acme(), order.id);
      await reaches(acme(), order.id, 'failed');
      const [call] = receiver.calls('/good');
      expect(receiver.calls('/good')).toHaveLength(1);
      expect(receiver.calls('/bad')).toHaveLength(5);
      expect(call?.headers.signature).toBe(hmac(call?.body ?? Buffer.of(), good.secret));
      expect(call?.headers.signature).not.toBe(hmac(call?.body ?? Buffer.of(), bad.secret));
    });
  });
});

it('§3: of several approvals at once one wins, and one delivery is made', async () => {
  await withWebhook(acme(), receiver, '/once', async () => {
    const { order } = await validatedOrder(acme());
    await Promise.all(
      Array.from({ length: 6 }, () => acme().platform('POST', `/orders/${order.id}/approve`, { body: {} })),
    );
    await receiver.received('/once', 1);
    await wait(AFTER_ALL_ATTEMPTS_MS);
    expect(receiver.calls('/once')).toHaveLength(1);
  });
});

it('§6: a webhook that was removed, or is another tenant’s, gets nothing', async () => {
  await withWebhook(run.tenant('hauler'), receiver, '/foreign', async () => {
    const removed = await addWebhook(acme(), receiver.url('/removed'));
    expect((await acme().platform('DELETE', `/webhooks/${removed.id}`)).status).toBe(204);
    await withWebhook(acme(), receiver, '/present', async () => {
      const { order } = await validatedOrder(acme());
      await approve(acme(), order.id);
      await receiver.received('/present', 1);
      await wait(AFTER_ALL_ATTEMPTS_MS);
      expect([...receiver.calls('/removed'), ...receiver.calls('/foreign')]).toEqual([]);
    });
  });
});
