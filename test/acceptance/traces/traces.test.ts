/** Traces: what a collector is sent of requests, and of approvals up to each attempt at the receiver. */
import { quickDelivery, validatedOrder, withWebhook } from '../export.js';
import { Receiver } from '../receiver.js';
import { callersTrace, KIND, only, type SentSpan, TraceCollector } from '../traceCollector.js';
import { useService } from '../useService.js';

let collector: TraceCollector;
const receiver = Receiver.ofTests();
const { acme, service } = useService(async () => {
  collector = await TraceCollector.start();
  return { tenants: { acme: 'dyn_stock_order' }, env: { ...collector.env, ...quickDelivery(receiver) } };
});
afterAll(() => collector.stop());

const ROUTE = '/api/v1/dynamic-assets/dyn/:table/assets';

it('a write is a span of the caller’s trace: its append is within', async () => {
  const { traceId, spanId, headers } = callersTrace();
  const answer = await acme().postRecord('dyn_item', { external_id: 'T1', name: 'Tea' }, { headers });
  expect(answer.status).toBe(201);
  const spans = await collector.trace(traceId, `POST ${ROUTE}`, 'append table');
  const request = only(spans, `POST ${ROUTE}`);
  expect(request).toMatchObject({ parentSpanId: spanId, kind: KIND.server, status: { code: 0 } });
  expect(request.attributes).toEqual({
    'http.request.method': 'POST',
    'http.route': ROUTE,
    'http.response.status_code': 201,
    'dynamic_assets.tenant': 'acme',
    'dynamic_assets.correlation_id': answer.headers['x-request-id'],
  });
  const append = only(spans, 'append table');
  expect(append).toMatchObject({ parentSpanId: request.spanId, kind: KIND.producer });
  expect(append.attributes).toEqual({ 'dynamic_assets.stream.category': 'table', 'dynamic_assets.append.events': 1 });
  expect(append.endTimeUnixNano).toBeGreaterThanOrEqual(append.startTimeUnixNano);
  // The clock of a span's start has milliseconds.
  expect(append.startTimeUnixNano + 1_000_000n).toBeGreaterThanOrEqual(request.startTimeUnixNano);
});

it('probes make no spans, and no span names a path, a key or a value', async () => {
  const { traceId, headers } = callersTrace();
  for (const path of ['/health/live', '/health/ready', '/metrics']) {
    await service().send({ method: 'GET', path, headers });
  }
  const last = callersTrace();
  await acme().getList('dyn_item', { 'filter[name]': 'Shared' }, { headers: last.headers });
  await collector.trace(last.traceId, `GET ${ROUTE}`);
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  const text = JSON.stringify(collector.spans.map(({ name, attributes }) => ({ name, attributes })));
  for (const word of ['secret-42', 'Shared', 'T1', 'Bearer']) expect(text).not.toContain(word);
});

const APPROVE = 'POST /api/v1/platform/orders/:id/approve';
const attemptsOf = (spans: readonly SentSpan[]) => spans.filter(({ name }) => name === 'webhook attempt');

/** Approves a new order. @returns the trace of the approval */
async function approveTraced(): Promise<{ readonly traceId: string; readonly orderId: string }> {
  const { order } = await validatedOrder(acme());
  const { traceId, headers } = callersTrace();
  const answer = await acme().platform('POST', `/orders/${order.id}/approve`, { body: {}, headers });
  expect(answer.status).toBe(200);
  return { traceId, orderId: order.id };
}

it('the delivery and its attempts, failed ones as well, are part of the approval’s trace', async () => {
  receiver.reply('/second', (nth) => ({ status: nth < 2 ? 503 : 204 }));
  await withWebhook(acme(), receiver, '/second', async ({ id }) => {
    const { traceId } = await approveTraced();
    const spans = await collector.until(
      (span) => span.traceId === traceId,
      (found) => attemptsOf(found).length === 2 && found.some(({ name }) => name === APPROVE),
    );
    const request = only(spans, APPROVE);
    expect(only(spans, 'append order').parentSpanId).toBe(request.spanId);
    const [failed, succeeded] = attemptsOf(spans);
    const common = { 'http.request.method': 'POST', 'server.address': '127.0.0.1', 'dynamic_assets.webhook.id': id };
    expect(failed).toMatchObject({
      parentSpanId: request.spanId,
      kind: KIND.client,
      status: { code: 2 },
      attributes: { ...common, 'http.response.status_code': 503, 'error.type': '503', 'dynamic_assets.attempt': 1 },
    });
    expect(succeeded).toMatchObject({
      parentSpanId: request.spanId,
      status: { code: 0 },
      attributes: { ...common, 'http.response.status_code': 204, 'dynamic_assets.attempt': 2 },
    });
    // Requested, two attempts begun, one failed, one succeeded: what the delivery log shows is part of it as well.
    const ofRequest = (found: readonly SentSpan[], name: string) =>
      found.filter((span) => span.parentSpanId === request.spanId && span.name === name);
    const all = await collector.until(
      (span) => span.traceId === traceId,
      (found) => ofRequest(found, 'append delivery').length >= 5,
    );
    expect(ofRequest(all, 'append delivery')).toHaveLength(5);
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
