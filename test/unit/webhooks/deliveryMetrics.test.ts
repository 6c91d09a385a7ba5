/** What figures about deliveries show while a circuit is open, and while the read models are away. */
import { Registry } from 'prom-client';
import type { Tenant } from '#app/domain/identity/directory.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { DeliveryMetrics, type MetricsSource } from '#app/webhooks/deliveryMetrics.js';
import { endpointKey } from '#app/webhooks/dispatcher.js';

const webhooks = new Map([['w', { id: 'w' }]]);
const tenant = { name: 'acme', webhooks } as unknown as Tenant;
const directory = { tenant: () => tenant, tenants: () => [tenant] } as unknown as MetricsSource['directory'];
const shown = async (registry: Registry, name: string) =>
  (await registry.getSingleMetric(name)?.get())?.values.map(({ value }) => value);

test('an open circuit is shown until it closes', async () => {
  const registry = new Registry();
  const metrics = new DeliveryMetrics(registry, { directory, readModels: { deliveryBacklog: async () => [] } });
  for (const isOpen of [false, true, false]) {
    metrics.circuitChanged(endpointKey({ tenant: 'acme', webhookId: 'w' }), isOpen);
    expect(await shown(registry, 'webhook_circuit_open')).toEqual([isOpen ? 1 : 0]);
  }
});

test('while the read models are away there is no figure of what waits, rather than an old one', async () => {
  const registry = new Registry();
  const deliveryBacklog = () => Promise.reject(new ReadModelsUnavailableError('away'));
  new DeliveryMetrics(registry, { directory, readModels: { deliveryBacklog } });
  expect(await shown(registry, 'webhook_deliveries_open')).toEqual([]);
  expect(await shown(registry, 'webhook_circuit_open')).toEqual([0]);
});
