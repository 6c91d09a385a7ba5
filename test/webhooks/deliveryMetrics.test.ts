import { readFile } from 'node:fs/promises';
import { Registry } from 'prom-client';
import { ServiceMetrics } from '#app/api/metrics.js';
import { disableWebhook, removeWebhook } from '#app/commands/webhooks/settings.js';
import { ReadModelsUnavailableError } from '#app/ports/readModels.js';
import { registerEngineMetrics, registerQueueMetrics } from '#app/service/engineHealth.js';
import { DeliveryMetrics } from '#app/webhooks/deliveryMetrics.js';
import { DELIVERY_QUEUE } from '#app/webhooks/queue.js';
import { hang, type Receiver, startReceiver, status } from './receiver.js';
import { makeDataDirectory, openService, removeDataDirectory, type Service, TENANT } from './service.js';

const caller = { tenant: TENANT, actor: { kind: 'system', id: 'test' }, correlationId: 'c', causationId: 'c' } as const;

describe('figures about deliveries', () => {
  let directory: string;
  let service: Service;
  let erp: Receiver;
  let registry: Registry;
  let metrics: DeliveryMetrics;

  beforeEach(async () => {
    directory = await makeDataDirectory();
    service = await openService(directory);
    await service.project();
    registry = new Registry();
    metrics = new DeliveryMetrics(registry, service.commands);
  });

  afterEach(async () => {
    await erp.close();
    await service.close();
    await removeDataDirectory(directory);
  });

  /** Values of a metric for the webhook, by the metric's other labels. */
  async function values(name: string, webhook: string): Promise<Record<string, number>> {
    const found = (await registry.getMetricsAsJSON()).find((metric) => metric.name === name);
    const ofWebhook =
      found?.values.filter(({ labels }) => labels.webhook === webhook && labels.tenant === TENANT) ?? [];
    return Object.fromEntries(
      ofWebhook.map(({ labels, value }) => [labels.outcome ?? labels.cause ?? labels.le ?? '', value]),
    );
  }

  async function approved(): Promise<string> {
    const orderId = await service.createOrder();
    await service.approve(orderId);
    return orderId;
  }

  test('attempts are counted by outcome, with their time, and what failed for good', async () => {
    erp = await startReceiver(status(500), hang, status(200), status(500));
    const { id } = await service.createWebhook(erp.url);
    expect(await values('webhook_attempts_total', id)).toMatchObject({ delivered: 0, failed: 0 });
    service.start({ caPem: erp.caPem, totalTimeoutMs: 300 }, [0, 5], { deps: { metrics } });
    await service.event('DeliverySucceeded', await approved());
    await service.event('DeliveryFailed', await approved());
    erp.answers = [status(410)];
    await service.event('DeliveryFailed', await approved());
    await service.stop();
    expect(await values('webhook_attempts_total', id)).toEqual({
      delivered: 1,
      failed: 6,
      timeout: 1,
      gone: 5,
      refused_address: 0,
    });
    expect(await values('webhook_deliveries_failed_total', id)).toEqual({ '': 2 });
    expect(await values('webhook_attempt_duration_seconds', id)).toMatchObject({ '+Inf': 13 });
    expect(await values('webhook_disabled', id)).toEqual({ gone: 1 });
  });

  test('a webhook that is removed has no figures any more, nor has one whose last attempt ends after that', async () => {
    erp = await startReceiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem }, [0, 5], { deps: { metrics } });
    await service.event('DeliverySucceeded', await approved());
    expect(await registry.metrics()).toContain(id);
    const { position } = await removeWebhook(service.commands, caller, id);
    await service.commands.directory.waitFor(position);
    const { eventStore, readModels } = service.commands;
    await readModels.waitFor('deliveries', await eventStore.head(), 10_000);
    expect(await registry.metrics()).not.toContain(id);
    const late = { ok: true, status: 200, durationMs: 5, responseBody: '' } as const;
    metrics.attempted({ tenant: TENANT, webhookId: id }, late);
    expect(await registry.metrics()).not.toContain(id);
  });

  test('refused addresses are told apart', async () => {
    erp = await startReceiver(status(200));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem, policy: () => 'it is refused here' }, [0, 5], { deps: { metrics } });
    await service.event('DeliveryFailed', await approved());
    expect(await values('webhook_attempts_total', id)).toMatchObject({ refused_address: 5, failed: 0 });
  });

  test('what waits is told by webhook, with the age of the oldest; nothing while the read models are away', async () => {
    erp = await startReceiver(status(500));
    const { id } = await service.createWebhook(erp.url);
    service.start({ caPem: erp.caPem }, [0, 60_000]);
    await approved();
    await approved();
    await service.events('DeliveryAttemptFailed', 2);
    await disableWebhook(service.commands, caller, id, { cause: 'admin', reason: 'holidays' });
    const { eventStore, readModels, directory: tenants } = service.commands;
    await readModels.waitFor('deliveries', await eventStore.head(), 10_000);
    expect(await values('webhook_deliveries_open', id)).toEqual({ '': 2 });
    const { '': seconds = -1 } = await values('webhook_oldest_open_seconds', id);
    expect(seconds).toBeGreaterThanOrEqual(0);
    expect(seconds).toBeLessThan(60);
    expect(await values('webhook_disabled', id)).toEqual({ admin: 1 });

    registry = new Registry();
    const away = { deliveryBacklog: () => Promise.reject(new ReadModelsUnavailableError('away')) };
    metrics = new DeliveryMetrics(registry, { directory: tenants, readModels: away });
    expect(await values('webhook_deliveries_open', id)).toEqual({});
    expect(await values('webhook_disabled', id)).toEqual({ admin: 1 });
  });

  test('an open circuit shows until it closes', async () => {
    erp = await startReceiver(status(500));
    const { id } = await service.createWebhook(erp.url);
    const circuit = { failures: 2, spanMs: 0, firstProbeMs: 500, longestProbeMs: 500 };
    service.start({ caPem: erp.caPem }, [0, 5], { circuit, deps: { metrics } });
    expect(await values('webhook_circuit_open', id)).toEqual({ '': 0 });
    const orderId = await approved();
    await service.event('DeliveryAttemptFailed', orderId, 2);
    expect(await values('webhook_circuit_open', id)).toEqual({ '': 1 });
    erp.answers = [status(200)];
    await service.event('DeliverySucceeded', orderId);
    expect(await values('webhook_circuit_open', id)).toEqual({ '': 0 });
  });

  test('the alerting rules in docs/alerts.yml ask for figures that exist', async () => {
    erp = await startReceiver(status(200));
    const all = new ServiceMetrics(async () => []);
    new DeliveryMetrics(all.registry, service.commands);
    registerEngineMetrics(all.registry, {});
    registerQueueMetrics(all.registry, service.broker, [DELIVERY_QUEUE]);
    const exist = all.registry.getMetricsAsArray().map(({ name }) => name);
    const rules = await readFile('docs/alerts.yml', 'utf8');
    const asked = [...rules.matchAll(/\b(webhook|queue|engine|projection)_[a-z_]+(?=[{[)])/g)].map(([name]) => name);
    expect(asked.length).toBeGreaterThan(10);
    expect(asked.map((name) => name.replace(/_bucket$/, '')).filter((name) => !exist.includes(name))).toEqual([]);
  });
});
