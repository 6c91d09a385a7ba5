/** RabbitMQ goes away and comes back: approvals go on, their webhooks are sent later. */
import { setTimeout as wait } from 'node:timers/promises';
import { approve, approvedOrder, quickDelivery, reaches, validatedOrder, withWebhook } from '../acceptance/export.js';
import { Receiver } from '../acceptance/receiver.js';
import { type Service, startService } from '../acceptance/service.js';
import { describeEngine } from '../engines/describeEngine.js';
import { RabbitMqServer, rabbitMqServerMissing } from '../engines/rabbitmq.js';
import { scaled } from '../engines/timeScale.js';

describeEngine('rabbitmq', 'the service with RabbitMQ away', rabbitMqServerMissing(), () => {
  let server: RabbitMqServer;
  let receiver: Receiver;
  let service: Service;
  const acme = () => service.tenant('acme');

  beforeAll(async () => {
    [server, receiver] = await Promise.all([RabbitMqServer.start(), Receiver.start()]);
    const env = { ...quickDelivery(receiver), RABBITMQ_URL: server.url };
    service = await startService({ tenants: { acme: 'dyn_stock_order' }, env });
  });
  afterAll(async () => {
    await service?.dispose();
    await receiver?.stop();
    await server?.dispose();
  });

  const missing = (): object => ({
    status: 503,
    body: {
      ready: false,
      checks: {
        broker: { ok: false, detail: expect.stringMatching(/^RabbitMQ is not available: /) },
        event_store: { ok: true },
        read_models: { ok: true },
      },
    },
  });

  it('when it is killed, approvals succeed, and their webhooks go out when it is back', async () => {
    await service.becomesReady();
    await withWebhook(acme(), receiver, '/killed', async () => {
      const before = await validatedOrder(acme());
      await approve(acme(), before.order.id);
      await receiver.received('/killed', 1);
      // RabbitMQ 3.10 itself loses a queue that was declared less than half a second before it is killed.
      await wait(1_000);

      await server.kill();
      const duringId = await approvedOrder(acme());
      await reaches(acme(), duringId, 'submitted');
      expect(await service.readiness()).toMatchObject(missing());
      expect(await service.metrics()).toMatch(/^engine_up\{engine="broker"\} 0$/m);
      expect(receiver.calls('/killed')).toHaveLength(1);

      await server.start();
      const backAt = performance.now();
      const [, call] = await receiver.received('/killed', 2);
      expect(performance.now() - backAt).toBeLessThan(scaled(6_000));
      expect(String(call?.body)).toContain(duringId);
      await service.becomesReady();
      const figures = await service.metrics();
      expect(figures).toMatch(/^engine_up\{engine="broker"\} 1$/m);
      expect(figures).toMatch(/^queue_messages\{queue="webhook-deliveries",state="ready"\} \d/m);
    });
  });

  it('when it hangs for five seconds, approvals succeed in time, and their webhooks go out', async () => {
    await service.becomesReady();
    await withWebhook(acme(), receiver, '/hangs', async () => {
      await server.freeze();
      const hangs = wait(5_000);
      const startedAt = performance.now();
      const orderId = await approvedOrder(acme());
      expect(performance.now() - startedAt).toBeLessThan(scaled(5_000));
      const [ready, figures] = await Promise.all([service.readiness(), service.metrics()]);
      expect(ready).toMatchObject({ status: 503, body: { checks: { broker: { ok: false } } } });
      expect(figures).toMatch(/^engine_up\{engine="broker"\} 0$/m);
      expect(figures).not.toMatch(/^queue_messages\{/m);
      await hangs;
      await server.thaw();
      const [call] = await receiver.received('/hangs', 1);
      expect(String(call?.body)).toContain(orderId);
      await service.becomesReady();
    });
  });

  it('when its disk is full, approvals succeed, and their webhooks go out when there is room again', async () => {
    await service.becomesReady();
    await withWebhook(acme(), receiver, '/full', async () => {
      await server.control('set_disk_free_limit', '1000GB');
      const orderId = await approvedOrder(acme());
      await reaches(acme(), orderId, 'submitted');
      // The server tells this to a publishing connection.
      while ((await service.readiness()).status === 200) await wait(100);
      expect(await service.readiness()).toMatchObject({
        body: { checks: { broker: { ok: false, detail: expect.stringMatching(/takes no messages for now: .*disk/) } } },
      });
      await server.control('set_disk_free_limit', '50MB');
      const [call] = await receiver.received('/full', 1);
      expect(String(call?.body)).toContain(orderId);
      await service.becomesReady();
    });
  });

  it('the service starts without it, says so, and delivers when it comes', async () => {
    await service.stop();
    await server.stop();
    await service.start();
    expect(await service.readiness()).toMatchObject(missing());
    await withWebhook(acme(), receiver, '/late', async () => {
      await approvedOrder(acme());
      await server.start();
      await receiver.received('/late', 1);
      await service.becomesReady();
    });
  });
});
