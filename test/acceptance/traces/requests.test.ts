/** Traces of requests: what a collector is sent of a write, a read and a refusal. */
import { ASSETS } from '../tenant.js';
import { callersTrace, KIND, only, TraceCollector } from '../traceCollector.js';
import { useService } from '../useService.js';

let collector: TraceCollector;
const run = useService(async () => {
  collector = await TraceCollector.start();
  return { tenants: { acme: 'dyn_stock_order' }, env: collector.env };
});
const acme = () => run.tenant('acme');
afterAll(() => collector.stop());

const ROUTE = '/api/v1/dynamic-assets/dyn/:table/assets';

it('a write is a span of the caller’s trace: its append, its projection and the wait until it is visible are within', async () => {
  const { traceId, spanId, headers } = callersTrace();
  const answer = await acme().postRecord('dyn_item', { external_id: 'T1', name: 'Tea' }, { headers });
  expect(answer.status).toBe(201);
  const spans = await collector.trace(traceId, `POST ${ROUTE}`, 'append table', 'project', 'wait until visible');
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
  expect(append.attributes).toEqual({
    'dynamic_assets.stream.category': 'table',
    'dynamic_assets.events': 1,
    'dynamic_assets.append.events': 1,
  });
  const wait = only(spans, 'wait until visible');
  expect(wait).toMatchObject({ parentSpanId: request.spanId, attributes: { 'dynamic_assets.visible': true } });
  const project = only(spans, 'project');
  expect(project).toMatchObject({ parentSpanId: request.spanId, kind: KIND.consumer, status: { code: 0 } });
  expect(project.attributes).toEqual({ 'dynamic_assets.events': 1, 'dynamic_assets.commit.events': 1 });
  for (const { startTimeUnixNano, endTimeUnixNano } of [append, project, wait]) {
    expect(endTimeUnixNano).toBeGreaterThanOrEqual(startTimeUnixNano);
    // The clock of a span's start has milliseconds.
    expect(startTimeUnixNano + 1_000_000n).toBeGreaterThanOrEqual(request.startTimeUnixNano);
  }
});

it('each caller is told in its own trace of an append that several share', async () => {
  const callers = Array.from({ length: 8 }, () => callersTrace());
  const create = ({ traceId, headers }: (typeof callers)[number]) =>
    acme().postRecord('dyn_item', { external_id: traceId, name: 'Shared' }, { headers });
  const answers = await Promise.all(callers.map(create));
  expect(answers.map(({ status }) => status)).toEqual(callers.map(() => 201));
  for (const { traceId } of callers) {
    const append = only(await collector.trace(traceId, 'append table'), 'append table');
    expect(append.attributes).toMatchObject({ 'dynamic_assets.events': 1 });
  }
});

it('without a caller’s trace, or with what is none, a request begins its own', async () => {
  for (const traceparent of [undefined, 'nonsense', `00-${'0'.repeat(32)}-${'0'.repeat(16)}-01`]) {
    const answer = await acme().getList('dyn_item', '', { headers: traceparent === undefined ? {} : { traceparent } });
    expect(answer.status).toBe(200);
    const id = answer.headers['x-request-id'];
    const [span] = await collector.until(
      ({ attributes }) => attributes['dynamic_assets.correlation_id'] === id,
      (found) => found.length > 0,
    );
    expect(span).toMatchObject({ name: `GET ${ROUTE}` });
    expect(span).not.toHaveProperty('parentSpanId');
  }
});

it('a trace that its caller does not keep is not sent', async () => {
  const unkept = callersTrace(false);
  const kept = callersTrace();
  for (const [index, { headers }] of [unkept, kept].entries()) {
    await acme().postRecord('dyn_item', { external_id: `K${index}`, name: 'Kept?' }, { headers });
  }
  await collector.trace(kept.traceId, `POST ${ROUTE}`, 'append table', 'wait until visible');
  expect(collector.spans.filter(({ traceId }) => traceId === unkept.traceId)).toEqual([]);
});

it('a refusal is no failure of the service; a path that there is not has no route', async () => {
  const refused = callersTrace();
  const nowhere = callersTrace();
  const options = { token: null, headers: refused.headers };
  expect((await acme().send('GET', `${ASSETS}/dyn_item/assets`, options)).status).toBe(401);
  expect((await acme().send('GET', '/nowhere/secret-42', { headers: nowhere.headers })).status).toBe(404);
  const [request] = await collector.trace(refused.traceId, 'GET');
  expect(request).toMatchObject({ status: { code: 0 }, attributes: { 'http.response.status_code': 401 } });
  const unmatched = only(await collector.trace(nowhere.traceId, 'GET'), 'GET');
  expect(unmatched.attributes).not.toHaveProperty('http.route');
});

it('probes make no spans, and no span names a path, a key or a value', async () => {
  const { traceId, headers } = callersTrace();
  for (const path of ['/health/live', '/health/ready', '/metrics']) {
    await run.service.send({ method: 'GET', path, headers });
  }
  const last = callersTrace();
  await acme().getList('dyn_item', { 'filter[name]': 'Shared' }, { headers: last.headers });
  await collector.trace(last.traceId, `GET ${ROUTE}`);
  expect(collector.spans.filter((span) => span.traceId === traceId)).toEqual([]);
  const text = JSON.stringify(collector.spans.map(({ name, attributes }) => ({ name, attributes })));
  for (const word of ['secret-42', 'Shared', 'T1', 'Bearer']) expect(text).not.toContain(word);
});

it('they come as those of the service and its version', () => {
  expect(collector.spans[0]?.service).toMatchObject({
    'service.name': 'dynamic-assets',
    'service.version': expect.stringMatching(/^\d/),
  });
});
