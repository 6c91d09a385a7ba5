/** What is sent to the collector, of one service and of several, and that a collector that hangs holds up nothing. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { addWebhook, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service, startService } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';
import { callersTrace, TraceCollector } from '../acceptance/traceCollector.js';

const line = z.looseObject({ msg: z.string(), level: z.int(), reason: z.string().optional() });
const linesOf = ({ log }: Service, text: string) =>
  log
    .split('\n')
    .filter((each) => each.includes(text))
    .map((each) => line.parse(JSON.parse(each)));
const CANNOT = 'OpenTelemetry is in trouble';
const WARN = 40;

let collector: TraceCollector;
let service: Service;
let created = 0;

const start = async (env: { readonly [name: string]: string } = {}): Promise<void> => {
  service = await startService({
    tenants: { acme: 'dyn_stock_order' },
    env: { ...collector.env, LOG_LEVEL: 'info', ...env },
  });
};
beforeEach(async () => {
  collector = await TraceCollector.start();
});
afterEach(async () => {
  await service.dispose();
  await collector.stop();
});

/** Each create is three spans. */
async function create(count: number): Promise<void> {
  for (let number = 0; number < count; number++) {
    created += 1;
    const answer = await service.tenant('acme').postRecord('dyn_item', { external_id: `E${created}`, name: 'Tea' });
    expect(answer.status).toBe(201);
    expect(answer.headers).not.toHaveProperty('projection-pending');
  }
}

/** Creates records until the service has logged this. */
async function createUntilLogged(text: string): Promise<void> {
  while (!service.log.includes(text)) await create(1);
}

it('hangs: requests are answered, and that spans are lost is told once a minute; they come again when it is well', async () => {
  collector.manner = 'hangs';
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '1000' });
  await createUntilLogged(CANNOT);
  const { calls } = collector;
  while (collector.calls < calls + 2) await create(1);
  expect(collector.spans).toEqual([]);
  collector.manner = 'takes';
  while (collector.spans.length === 0) await create(1);
  expect(linesOf(service, CANNOT)).toMatchObject([{ level: WARN, reason: expect.stringContaining('timed out') }]);
  expect(service.loggedErrors).toEqual([]);
});

it('hangs when the service stops: that waits for it no longer than two seconds', async () => {
  collector.manner = 'hangs';
  // Without a limit of its own, the stop would take as long as these settings say.
  await start({ OTEL_EXPORTER_OTLP_TIMEOUT: '900000', OTEL_BSP_EXPORT_TIMEOUT: '900000' });
  await create(10);
  expect(await service.stop()).toBe(0);
  expect(linesOf(service, CANNOT)).toMatchObject([{ reason: 'Spans are lost: not all were sent within 2 s.' }]);
});

it('an approval in one process, delivered by another that starts only later, is one trace', async () => {
  const receiver = await Receiver.start();
  const dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const common = { ...collector.env, ...quickDelivery(receiver) };
  const process = (role: string) =>
    new Service(dataDir, { ...common, OTEL_SERVICE_NAME: `assets-${role}` }, ['--role', role]);
  const [api, projector, webhooks] = [process('api'), process('projector'), process('webhooks')];
  service = api;
  try {
    const { admin, client } = await api.createTenant('acme', 'dyn_stock_order');
    await Promise.all([api.start(), projector.start()]);
    const acme = new TenantClient(api, { tenant: 'acme', admin, client }, 'dyn_stock_order');
    await addWebhook(acme, receiver.url('/orders'));
    const { order } = await validatedOrder(acme);
    const { traceId, headers } = callersTrace();
    await acme.platform('POST', `/orders/${order.id}/approve`, { body: {}, headers });
    await webhooks.start();
    const expected = {
      'POST /api/v1/platform/orders/:id/approve': 'assets-api',
      'append order': 'assets-api',
      'wait until visible': 'assets-api',
      'append delivery': 'assets-webhooks',
      'webhook attempt': 'assets-webhooks',
    };
    const spans = await collector.trace(traceId, ...Object.keys(expected));
    const makers = new Set(spans.map(({ name, service: of }) => `${name}: ${String(of['service.name'])}`));
    expect(makers).toEqual(new Set(Object.entries(expected).map(([name, maker]) => `${name}: ${maker}`)));
  } finally {
    await Promise.all([projector, webhooks].map((each) => each.stop()));
    await receiver.stop();
  }
});
