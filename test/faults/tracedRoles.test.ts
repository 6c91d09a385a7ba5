/** One trace over three processes: the context travels with the event, in the log. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { addWebhook, quickDelivery, validatedOrder } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { Service } from '../acceptance/service.js';
import { TenantClient } from '../acceptance/tenant.js';
import { callersTrace, TraceCollector } from '../acceptance/traceCollector.js';

it('an approval in one process, projected by another, is delivered by a third that starts only later', async () => {
  const [collector, receiver] = await Promise.all([TraceCollector.start(), Receiver.start()]);
  const dataDir = await mkdtemp(join(tmpdir(), 'dynamic-assets-'));
  const common = { ...collector.env, ...quickDelivery(receiver) };
  const process = (role: string) =>
    new Service(dataDir, { ...common, OTEL_SERVICE_NAME: `assets-${role}` }, ['--role', role]);
  const [api, projector, webhooks] = [process('api'), process('projector'), process('webhooks')];
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
      project: 'assets-projector',
      relay: 'assets-webhooks',
      'append delivery': 'assets-webhooks',
      'webhook attempt': 'assets-webhooks',
    };
    const spans = await collector.trace(traceId, ...Object.keys(expected));
    const makers = new Set(spans.map(({ name, service }) => `${name}: ${String(service['service.name'])}`));
    expect([...makers].sort()).toEqual(
      Object.entries(expected)
        .map(([name, maker]) => `${name}: ${maker}`)
        .sort(),
    );
  } finally {
    await Promise.all([api, projector, webhooks].map((each) => each.stop()));
    await Promise.all([receiver.stop(), collector.stop()]);
    await rm(dataDir, { recursive: true, force: true });
  }
});
