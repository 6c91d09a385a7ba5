import { Registry } from 'prom-client';
import { TenantMetrics } from '#app/api/metrics.js';

let now = 0;
const names = ['a', 'b', 'c', 'd'];
const metricsOf = (limit: number, tenants: readonly string[] = names) => {
  const registry = new Registry();
  return {
    registry,
    metrics: new TenantMetrics(
      registry,
      limit,
      () => tenants,
      () => now,
    ),
  };
};
const requests = async (registry: Registry): Promise<Record<string, number>> => {
  const text = await registry.metrics();
  const found = text.matchAll(/^tenant_requests_total\{tenant="(\w+)",status="2xx"\} (\d+)$/gm);
  return Object.fromEntries([...found].map(([, tenant = '', count]) => [tenant, Number(count)]));
};
const ask = (metrics: TenantMetrics, tenant: string, times: number): void => {
  for (let n = 0; n < times; n += 1) metrics.answered(tenant, 200, 10, 100);
};

beforeEach(() => {
  now = 0;
});

test('while tenants are few, each has series of its own from the first scrape on, and there are no others', async () => {
  const { registry, metrics } = metricsOf(4);
  ask(metrics, 'b', 3);
  expect(await requests(registry)).toEqual({ a: 0, b: 3, c: 0, d: 0 });
});

test('requests are counted by the class of their status, with the bytes of both bodies', async () => {
  const { registry, metrics } = metricsOf(4);
  for (const status of [200, 201, 304, 404, 499, 503]) metrics.answered('a', status, 10, 100);
  const text = await registry.metrics();
  for (const [status, count] of Object.entries({ '2xx': 2, '3xx': 1, '4xx': 2, '5xx': 1 }))
    expect(text).toContain(`tenant_requests_total{tenant="a",status="${status}"} ${count}\n`);
  expect(text).toContain('tenant_request_bytes_total{tenant="a"} 60\n');
  expect(text).toContain('tenant_response_bytes_total{tenant="a"} 600\n');
});

test('of more, no more than the limit have series, and the rest of all requests is that of the others', async () => {
  const { registry, metrics } = metricsOf(2);
  for (const name of names) ask(metrics, name, 2);
  expect(await requests(registry)).toEqual({ a: 2, b: 2, _other: 4 });
});

test('a minute later the busiest have them, and no series goes back', async () => {
  const { registry, metrics } = metricsOf(2);
  ask(metrics, 'a', 1);
  ask(metrics, 'b', 10);
  ask(metrics, 'd', 50);
  const before = await requests(registry);
  expect(before).toEqual({ a: 1, b: 10, _other: 50 });
  now = 60_000;
  expect(await requests(registry)).toEqual({ b: 10, d: 0, _other: 50 });
  ask(metrics, 'd', 5);
  expect(await requests(registry)).toEqual({ b: 10, d: 5, _other: 50 });
});

test('who has series keeps them until another has twice as many requests', async () => {
  const { registry, metrics } = metricsOf(1);
  ask(metrics, 'a', 10);
  ask(metrics, 'b', 19);
  now = 60_000;
  expect(await requests(registry)).toEqual({ a: 10, _other: 19 });
  ask(metrics, 'b', 12);
  now = 120_000;
  expect(await requests(registry)).toEqual({ b: 0, _other: 31 });
});

test('a tenant that is gone has none, and makes room', async () => {
  const tenants = ['a', 'b'];
  const { registry, metrics } = metricsOf(1, tenants);
  ask(metrics, 'a', 3);
  tenants.shift();
  expect(await requests(registry)).toEqual({ b: 0 });
});

test('with a limit of 0 all are counted together', async () => {
  const { registry, metrics } = metricsOf(0);
  ask(metrics, 'a', 3);
  expect(await requests(registry)).toEqual({ _other: 3 });
});

test('refused sign-ins are counted by tenant, by who it was, and by reason', async () => {
  const { registry, metrics } = metricsOf(1);
  metrics.refused('a', 'user', 'wrong_credentials');
  metrics.refused('b', 'client', 'too_many_wrong');
  const text = await registry.metrics();
  expect(text).toContain('sign_ins_refused_total{tenant="a",kind="user",reason="wrong_credentials"} 1\n');
  expect(text).toContain('sign_ins_refused_total{tenant="_other",kind="client",reason="too_many_wrong"} 1\n');
});
