/** Traces of approvals: from the request to each attempt at the receiver, in one trace. */
import { addWebhook, quickDelivery, reaches, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { callersTrace, KIND, only, type SentSpan, TraceCollector } from '../traceCollector.js';
import { useService } from '../useService.js';

let collector: TraceCollector;
let receiver: Receiver;
const run = useService(async () => {
  collector = await TraceCollector.start();
  receiver = await Receiver.start();
  return { tenants: { acme: 'dyn_stock_order' }, env: { ...collector.env, ...quickDelivery(receiver) } };
});
const acme = () => run.tenant('acme');
afterAll(async () => {
  await receiver.stop();
  await collector.stop();
});

const REQUEST = 'POST /api/v1/platform/orders/:id/approve';
const attemptsOf = (spans: readonly SentSpan[]) => spans.filter(({ name }) => name === 'webhook attempt');

/** Approves a new order. @returns the trace of the approval */
async function approveTraced(): Promise<{ readonly traceId: string; readonly orderId: string }> {
  const { order } = await validatedOrder(acme());
  const { traceId, headers } = callersTrace();
  const answer = await acme().platform('POST', `/orders/${order.id}/approve`, { body: {}, headers });
  expect(answer.status).toBe(200);
  return { traceId, orderId: order.id };
}

it('what the relay does, the delivery and its attempts, failed ones as well, are part of the approval’s trace', async () => {
  receiver.reply('/second', (nth) => ({ status: nth < 2 ? 503 : 204 }));
  await withWebhook(acme(), receiver, '/second', async ({ id }) => {
    const { traceId } = await approveTraced();
    const spans = await collector.until(
      (span) => span.traceId === traceId,
      (found) =>
        attemptsOf(found).length === 2 && [REQUEST, 'relay'].every((name) => found.some((one) => one.name === name)),
    );
    const request = only(spans, REQUEST);
    const relay = only(spans, 'relay');
    expect(relay).toMatchObject({
      parentSpanId: request.spanId,
      kind: KIND.consumer,
      attributes: { 'dynamic_assets.event.type': 'OrderApproved', 'dynamic_assets.deliveries': 1 },
    });
    expect(only(spans, 'append order').parentSpanId).toBe(request.spanId);
    const [failed, succeeded] = attemptsOf(spans);
    const common = { 'http.request.method': 'POST', 'server.address': '127.0.0.1', 'dynamic_assets.webhook.id': id };
    expect(failed).toMatchObject({
      parentSpanId: relay.spanId,
      kind: KIND.client,
      status: { code: 2 },
      attributes: { ...common, 'http.response.status_code': 503, 'error.type': '503', 'dynamic_assets.attempt': 1 },
    });
    expect(succeeded).toMatchObject({
      parentSpanId: relay.spanId,
      status: { code: 0 },
      attributes: { ...common, 'http.response.status_code': 204, 'dynamic_assets.attempt': 2 },
    });
    // Requested, two attempts begun, one failed, one succeeded: what the delivery log shows is part of it as well.
    const ofRelay = (found: readonly SentSpan[], name: string) =>
      found.filter((span) => span.parentSpanId === relay.spanId && span.name === name);
    // A commit of the read models is one span, of however many of them.
    const projected = (found: readonly SentSpan[]) =>
      ofRelay(found, 'project').reduce((sum, { attributes }) => sum + Number(attributes['dynamic_assets.events']), 0);
    const all = await collector.until(
      (span) => span.traceId === traceId,
      (found) => ofRelay(found, 'append delivery').length >= 5 && projected(found) >= 5,
    );
    expect([ofRelay(all, 'append delivery').length, projected(all)]).toEqual([5, 5]);
  });
});

it('the receiver is told nothing of it, and no span names the path of its URL', async () => {
  await withWebhook(acme(), receiver, '/told?key=hidden', async () => {
    const { traceId } = await approveTraced();
    await collector.trace(traceId, 'webhook attempt');
    const [call] = await receiver.received('/told?key=hidden', 1);
    expect(Object.keys(call?.headers ?? {}).filter((name) => name.startsWith('trace'))).toEqual([]);
    expect(JSON.stringify(collector.spans.map(({ attributes }) => attributes))).not.toMatch(/told|hidden/);
  });
});

it('an export that fails for good is told in the same trace, by what failed the order', async () => {
  receiver.reply('/never', () => ({ status: 503 }));
  await withWebhook(acme(), receiver, '/never', async () => {
    const { traceId, orderId } = await approveTraced();
    await reaches(acme(), orderId, 'failed');
    const spans = await collector.until(
      (span) => span.traceId === traceId,
      (found) => attemptsOf(found).length === 5 && found.filter(({ name }) => name === 'append order').length === 2,
    );
    expect(
      attemptsOf(spans)
        .map(({ attributes }) => attributes['dynamic_assets.attempt'])
        .sort(),
    ).toEqual([1, 2, 3, 4, 5]);
  });
});

it('an order that nobody traces is delivered without a span', async () => {
  await withWebhook(acme(), receiver, '/untraced', async () => {
    const { order } = await validatedOrder(acme());
    const { headers, traceId } = callersTrace(false);
    await acme().platform('POST', `/orders/${order.id}/approve`, { body: {}, headers });
    await receiver.received('/untraced', 1);
    const last = await approveTraced();
    await collector.trace(last.traceId, 'webhook attempt');
    expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  });
});

it('a resend is part of the trace of whoever asks for it', async () => {
  const { id } = await addWebhook(acme(), receiver.url('/again'));
  const { traceId } = await approveTraced();
  const [attempt] = attemptsOf(await collector.trace(traceId, 'webhook attempt'));
  const again = callersTrace();
  const delivery = String(attempt?.attributes['dynamic_assets.delivery.id']);
  const asked = await acme().platform('POST', `/webhooks/${id}/deliveries/${delivery}/resend`, {
    body: {},
    headers: again.headers,
  });
  expect(asked.status).toBeLessThan(300);
  const spans = await collector.trace(again.traceId, 'webhook attempt');
  const [request] = spans.filter(({ kind }) => kind === KIND.server);
  expect(only(spans, 'webhook attempt').parentSpanId).toBe(request?.spanId);
});
